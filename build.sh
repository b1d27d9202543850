#!/usr/bin/env bash
# The project's verbs. Needs Go; wasm and repro also need LLVM 19 (they say so),
# conform and soak need the languages that they are about.
set -euo pipefail
cd "$(dirname "$0")"

help() {
  cat <<'TEXT'
usage: ./build.sh VERB

  demo     import the sample OpenClaw directory and show the tools at work
  test     all tests; what needs another toolchain skips, saying why (CI=true: nothing skips)
  check    format, vet, staticcheck, tidy, tests with the race detector, each benchmark once, a clean tree
  wasm     compile plugin/ with TinyGo to plugin/wasm/parley.wasm and write its lock file
  repro    compile twice in different directories and compare with the committed module
  conform  show that the module does the same everywhere: every transcript, a small host, failures and 100,000 calls in
           Node.js, Python, Rust and Java (examples/), in Go also compiled by Go's own compiler, and the official MCP clients
           for TypeScript: ./build.sh conform [go|clients|node|python|rust|java]...; what they fetch is kept in
           ~/.cache/parley/conform, or $PARLEY_CONFORM_CACHE
  bench    measure steps beside native Go and the Extism SDK, then gateways on generated stores: ratios, requests
           per second, overhead of sends and memory
  crash    kill and stop Parley at every commit and outside effect of sends and spawns, and kill it at random under load:
           500 times of sends (--kills N), 300 times of spawns (--spawn-kills N); --only TEXT picks scenarios by name
  swaps    swap the plugin of a gateway 1000 times under load (-swaps N): no call fails, each answer is of an active version
  soak     a million steps in the Go host and in one instance in Node: fails when memory grows; --only go or node
  fuzz     run every fuzz test for a while: ./build.sh fuzz [SECONDS each, default 20]
  help     this text
TEXT
}

demo() {
  echo "Compiling; the first time takes most of a minute." >&2
  go run ./host/cmd/parley demo "$@"
}

# TESTFLAGS adds flags, such as -race or -run NAME.
test_() {
  # A package that takes two minutes takes ten with the race detector on a busy
  # machine, which is all that go test allows by itself.
  # shellcheck disable=SC2086
  go test -timeout 30m ${TESTFLAGS:-} ./... "$@"
}

wasm() { go run ./plugin/toolchain build; }

repro() { go run ./plugin/toolchain repro; }

# named runs a test by its name, and fails when there is none.
named() {
  local log
  log=$(go test -count=1 -v -run "^$1\$" "$2") || { echo "$log"; return 1; }
  echo "$log"
  grep -qE "^--- PASS: $1 " <<<"$log"
}

conform() {
  local what
  [ $# -gt 0 ] || set -- go clients node python rust java
  for what in "$@"; do
    case $what in
    go)
      echo "== go: $(go version | cut -d ' ' -f 3), $(go list -m github.com/tetratelabs/wazero)"
      named TestTranscripts ./host
      named TestOtherCompiler ./host/internal/engine
      named Example ./examples/gateway
      ;;
    clients) PARLEY_CONFORM=1 named TestClients ./host/cmd/parley ;;
    node | python | rust | java) bash "examples/$what/conform.sh" ;;
    *)
      echo "build.sh conform: $what is none of go, clients, node, python, rust, java" >&2
      return 2
      ;;
    esac
  done
}

bench() {
  echo "== a step on each way: native Go, the engine's two, the official Extism SDK"
  go -C host/internal/bench/step run .
  echo "== putting an instance back: copying, or mapping its image copy-on-write"
  go test -run '^$' -bench 'BenchmarkRestore' ./host/internal/engine/instance
  echo "== what bounds a step: nothing, fuel, the engine's cancellation"
  go test -run '^$' -bench 'BenchmarkFuel' ./host/internal/engine
  echo "== commits with and without group commit"
  go test -run '^$' -bench 'BenchmarkUpdate' ./host/store/sqlite
  echo "== a gateway over HTTP, a small store and a big one; sends"
  go run ./host/internal/bench "$@"
}

crash() { go run ./host/internal/e2e/crash "$@"; }

swaps() { go run ./host/internal/e2e/swaps "$@"; }

soak() { go run ./host/internal/e2e/soak "$@"; }

fuzz() {
  local seconds=${1:-20} pkg name
  go list ./... | while read -r pkg; do
    go test -list '^Fuzz' "$pkg" | { grep '^Fuzz' || :; } | while read -r name; do
      echo "== $pkg $name"
      go test -run '^$' -fuzz "^$name\$" -fuzztime "${seconds}s" -fuzzminimizetime 10x "$pkg"
    done
  done
}

check() {
  local before staticcheck module
  before=$(git status --porcelain)
  echo "== format"
  gofmt -l . >/dev/null # a file that cannot be read
  [ -z "$(gofmt -l .)" ] || { gofmt -d .; return 1; }
  staticcheck=$(go -C plugin/toolchain/lint tool -n staticcheck)
  for module in . host/internal/bench/step; do
    echo "== $module: tidy, vet, staticcheck"
    (cd "$module" && go mod tidy -diff && go vet ./... && "$staticcheck" ./...)
  done
  echo "== tests with the race detector"
  TESTFLAGS="-race ${TESTFLAGS:-}" test_
  echo "== each benchmark once"
  go test -run '^$' -bench . -benchtime 1x ./... >/dev/null
  echo "== clean tree"
  if [ "$(git status --porcelain)" != "$before" ]; then
    git status --short
    git --no-pager diff
    return 1
  fi
}

verb=${1:-help}
[ $# -eq 0 ] || shift
case $verb in
demo | wasm | repro | conform | bench | crash | swaps | soak | fuzz | check) "$verb" "$@" ;;
test) test_ "$@" ;;
help | -h | --help) help ;;
*)
  echo "build.sh: there is no verb $verb" >&2
  help >&2
  exit 2
  ;;
esac
