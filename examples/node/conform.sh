#!/usr/bin/env bash
# Installs both SDKs in node_modules, and checks that this host conforms with each.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../conform.sh
export NODE_OPTIONS="${NODE_OPTIONS:-} --disable-warning=ExperimentalWarning"

stage install 'added' npm ci --no-audit --no-fund --cache "$cache/npm"
for EXTISM_SDK in @extism/extism extism-2; do
  export EXTISM_SDK
  stage tests '^# pass' node --test --test-reporter=tap test/
  stage version '[0-9]' node -e 'import("./plugin.js").then(async ({ version }) => console.log(await version()))'
  stage replay '^[1-9][0-9]* passed, 0 failed$' node replay.js
  stage demo 'demo.txt' demo node demo.js
  stage failures 'a trap' node failures.js
  stage calls 'calls/s' node --expose-gc calls.js
done
