#!/usr/bin/env bash
# Installs the SDK in the cache folder, and checks that this host conforms.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../conform.sh
export PYTHONDONTWRITEBYTECODE=1

# Installs again only if the version of Python or the pins have changed.
install() {
  python3 -VV | cat - requirements.txt requirements-test.txt >"$cache/wanted"
  cmp -s "$cache/wanted" "$cache/installed" && echo "installed already" && return
  rm -f "$cache/installed" && python3 -m venv --clear "$cache/venv" &&
    "$cache/venv/bin/pip" install --cache-dir "$cache/pip" --require-hashes -r requirements.txt -r requirements-test.txt &&
    mv "$cache/wanted" "$cache/installed"
}

stage install '^Successfully|^installed' install
PATH=$cache/venv/bin:$PATH
stage version '[0-9]' python -c 'import plugin; print(plugin.versions())'
stage tests '^Ran' python -m unittest
stage replay '^[1-9][0-9]* passed, 0 failed$' python replay.py
stage demo 'demo.txt' demo python demo.py
stage failures 'not_found' python failures.py
stage calls 'calls/s' python calls.py 100000
