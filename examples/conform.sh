# Common functions of the examples' conform.sh, which source it from their own folder.

language=$(basename "$PWD")
# The cache of the package managers, outside of the checkout.
cache=${PARLEY_CONFORM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/parley/conform}/$language
mkdir -p "$cache"

# stage NAME PATTERN COMMAND… runs a command (errexit is off in functions), and prints the
# duration and the last matching line of its output. If the command fails or no line
# matches, it prints the whole output and fails.
stage() {
  local name=$1 pattern=$2 start=$EPOCHREALTIME status=ok
  shift 2
  "$@" >"$cache/stage.log" 2>&1 || status=FAILED
  grep -qE -- "$pattern" "$cache/stage.log" || status=FAILED
  printf '%-6s %-8s %-6s %6.1f s  %s\n' "$language" "$name" "$status" "$(seconds "$start")" "$(grep -E -- "$pattern" "$cache/stage.log" | tail -n 1 || :)"
  if [ "$status" != ok ]; then
    cat "$cache/stage.log"
    return 1
  fi
}

seconds() { LC_ALL=C awk -v from="${1/,/.}" -v to="${EPOCHREALTIME/,/.}" 'BEGIN { print to - from }'; }

# demo COMMAND… compares the output of a demo with demo.txt, which is the same in every language.
demo() { "$@" | diff ../demo.txt - && echo "as in demo.txt"; }
