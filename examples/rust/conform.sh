#!/usr/bin/env bash
# Builds this example in the cache, and checks that this host conforms.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../conform.sh
export CARGO_TARGET_DIR=$cache
bin=$cache/debug

stage build 'Finished' cargo build --locked --tests --bins
stage version '^extism' "$bin/calls" 1
stage tests '^test result' cargo test --locked --lib --test '*'
stage replay '^[1-9][0-9]* passed, 0 failed$' "$bin/replay"
stage demo 'demo.txt' demo "$bin/demo"
stage failures '^an unknown tool' "$bin/failures"
stage calls 'calls/s, memory' "$bin/calls" 100000
