#!/usr/bin/env bash
# Installs the SDKs in node_modules, and shows with both that this host conforms.
set -euo pipefail
cd "$(dirname "$0")"
. ../conform.sh
export NODE_OPTIONS=--disable-warning=ExperimentalWarning

stage "install" npm ci --no-audit --no-fund --loglevel=error --cache "$CACHE/npm"
for sdk in @extism/extism extism-2; do
  export EXTISM_SDK=$sdk
  stage "$sdk: tests" node --test --test-reporter=dot test/
  stage "$sdk: replay" node replay.js
  stage "$sdk: demo" demo node demo.js
  stage "$sdk: failures" node failures.js
  stage "$sdk: calls" node --expose-gc calls.js
done
