#!/usr/bin/env bash
# Installs the example in a cache folder, runs all of it, and prints the seconds of each stage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
cache=${PARLEY_CONFORM_CACHE:-$HOME/.cache/parley-conform}/python
mkdir -p "$cache"
log=$cache/log
export PYTHONDONTWRITEBYTECODE=1

# Prints the seconds, and the last line that the stage has printed; all of them when it fails.
stage() {
  local name=$1 start=$SECONDS
  shift
  ("$@") >"$log" 2>&1 || {
    cat "$log"
    echo "$name failed after $((SECONDS - start)) s" >&2
    exit 1
  }
  printf '%4d s  %-8s  %s\n' $((SECONDS - start)) "$name" "$(tail -n 1 "$log")"
}

# Again only for another Python or other pins.
install() {
  python3 -VV | cat - requirements.txt requirements-test.txt >"$cache/wanted"
  cmp -s "$cache/wanted" "$cache/installed" || {
    rm -f "$cache/installed"
    python3 -m venv --clear "$cache/venv"
    "$cache/venv/bin/pip" install --quiet --require-hashes -r requirements.txt -r requirements-test.txt
    mv "$cache/wanted" "$cache/installed"
  }
  "$cache/venv/bin/python" -c 'import plugin; print(plugin.versions())'
}

demo() {
  python demo.py >"$cache/demo.txt"
  diff ../demo.txt "$cache/demo.txt"
  echo "prints ../demo.txt"
}

stage install install
PATH=$cache/venv/bin:$PATH
stage tests python -m unittest
stage replay python replay.py
stage demo demo
stage failures python failures.py
stage calls python calls.py 100000
