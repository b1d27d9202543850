# What the conform.sh of the examples have in common; to be sourced.

# CACHE keeps what package managers fetch, outside of the checkout.
CACHE=${PARLEY_CONFORM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/parley/conform}/$(basename "$PWD")
mkdir -p "$CACHE"

# stage NAME COMMAND… runs a command, and says how long it took.
stage() {
  local name=$1 start=$SECONDS
  shift
  echo "== $(basename "$PWD"): $name"
  "$@"
  echo "   $((SECONDS - start)) s"
}

# demo COMMAND… runs a demo, and compares what it prints with demo.txt.
demo() {
  "$@" | diff - ../demo.txt
  cat ../demo.txt
}
