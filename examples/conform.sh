# What the conform.sh of the examples have in common. They source it from their own folder.

language=$(basename "$PWD")
# What package managers fetch is kept here, outside of the checkout.
cache=${PARLEY_CONFORM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/parley/conform}/$language
mkdir -p "$cache"

# stage NAME PATTERN COMMAND… runs a command (in a function errexit is off), and prints how
# long it took and the last line of its output that matches. It fails when the command
# does, or no line matches, and prints all.
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

# demo COMMAND… compares what a demo prints with what it prints in every language.
demo() { "$@" | diff ../demo.txt - && echo "as in demo.txt"; }
