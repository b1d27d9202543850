#!/usr/bin/env bash
# The project's verbs. Needs Go; wasm and repro also need LLVM 19 (they say so),
# conform, soak and long need the languages that they are about.
set -euo pipefail
cd "$(dirname "$0")"

help() {
  cat <<'TEXT'
usage: ./build.sh VERB

  demo     import the sample OpenClaw directory and show the tools at work
  test     all tests but that of the MCP clients; what needs another toolchain skips, saying why (CI=true: nothing skips)
  check    format, vet, staticcheck, tidy, dead code, vet for other platforms, tests with the race detector
           (CI=true: a skip is a failure), each benchmark once, a clean tree
  wasm     compile plugin/ with TinyGo to plugin/wasm/parley.wasm and write its lock file
  repro    compile twice in different directories and compare with the committed module
  conform  show that the module does the same everywhere: every recording, a small host, failures and 100,000 calls in
           Node.js, Python, Rust and Java (examples/), in Go also compiled by Go's own compiler, and the official MCP clients
           for TypeScript: ./build.sh conform [--changed] [go|clients|node|python|rust|java]...; --changed leaves out those of
           which nothing has changed since they passed on this machine; what they fetch, and what passed, is kept in
           ~/.cache/parley/conform, or $PARLEY_CONFORM_CACHE
  bench    measure steps beside native Go and the Extism SDK, then gateways on generated stores: ratios, requests
           per second, overhead of sends and memory
  crash    kill and stop Parley at every commit and outside effect of sends and spawns, and kill it at random under load:
           500 times of sends (-kills N), 300 times of spawns (-spawn-kills N); -only TEXT picks parts by name,
           such as telegram or random, -seed N repeats the random choices
  swaps    swap the plugin of a gateway 1000 times under load (-swaps N): no call fails, each answer is of an active version
  soak     a million steps in the Go host and in one instance in Node (-steps N): fails when memory grows; -only go or node
  fuzz     run every fuzz test for a while: ./build.sh fuzz [SECONDS each, default 20]
  long     crash, swaps, soak, fuzz (a minute each), bench, conform and repro with their full numbers:
           ./build.sh long [STAGE...] [-seed N]; appends what each has counted to ~/.cache/parley/long.jsonl, or $PARLEY_LONG_LOG,
           and prints the totals of this revision over all runs
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
  # machine, which is all that go test allows by itself. The MCP clients are conform's.
  # shellcheck disable=SC2086
  go test -timeout 30m -skip '^TestClients$' ${TESTFLAGS:-} ./... "$@"
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

# digest prints a digest of all that a conform of something depends on. A tracked file that
# is gone has no line, which is a change too.
digest() {
  local toolchain files
  case $1 in
  go) toolchain="go version" files=(.) ;;
  clients) toolchain="go version; node --version; npm --version" files=(host abi plugin/wasm testdata go.mod go.sum build.sh) ;;
  *)
    files=(plugin/wasm abi/schema testdata "examples/$1" ':(glob)examples/*.*' build.sh)
    case $1 in
    node) toolchain="node --version; npm --version" ;;
    python) toolchain="python3 -VV" ;;
    rust) toolchain="rustc --version; cargo --version" ;;
    java) toolchain="java -version; mvn --version" ;;
    esac
    ;;
  esac
  {
    eval "$toolchain" || :
    git ls-files -z --cached --others --exclude-standard -- "${files[@]}" | sort -zu | { xargs -0 sha256sum || :; }
  } 2>&1 | sha256sum | cut -c 1-16
}

conform() {
  local changed=false what passed
  export PARLEY_CONFORM_CACHE=${PARLEY_CONFORM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/parley/conform}
  if [ "${1:-}" = --changed ]; then
    changed=true
    shift
  fi
  [ $# -gt 0 ] || set -- go clients node python rust java
  for what in "$@"; do
    case $what in
    go | clients | node | python | rust | java) ;;
    *)
      echo "build.sh conform: $what is none of go, clients, node, python, rust, java" >&2
      return 2
      ;;
    esac
    passed=$PARLEY_CONFORM_CACHE/passed/$what-$(digest "$what")
    if $changed && [ -e "$passed" ]; then
      echo "== $what: unchanged since it passed here (digest ${passed##*-})"
      continue
    fi
    rm -f "$passed"
    conforms "$what"
    mkdir -p "${passed%/*}"
    touch "$passed"
    echo "summary {\"$what\":1}"
  done
}

conforms() {
  case $1 in
  go)
    echo "== go: $(go version | cut -d ' ' -f 3), $(go list -m github.com/tetratelabs/wazero)"
    named TestRecordings ./host
    named TestOtherCompiler ./host/internal/engine
    named Example ./examples/gateway
    ;;
  clients) PARLEY_CONFORM=1 named TestClients ./host/cmd/parley ;;
  *) bash "examples/$1/conform.sh" ;;
  esac
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
  local seconds=${1:-20} targets pkg name failed=()
  # go test names the targets of a package, then the package.
  targets=$(go test -list '^Fuzz' ./... | awk '/^Fuzz/ { names[n++] = $1 } $1 == "ok" { for (i = 0; i < n; i++) print $2, names[i]; n = 0 }')
  while read -r pkg name; do
    echo "== $pkg $name"
    fuzzed "$pkg" "$name" "$seconds" || failed+=("$pkg $name")
  done <<<"$targets"
  [ ${#failed[@]} -eq 0 ] || { printf 'failed: %s\n' "${failed[@]}" >&2; return 1; }
}

# fuzzed runs one target. At the end of the time go test sometimes fails with the end of
# its own context, and names no input: that is not the target's failure.
fuzzed() {
  go test -run '^$' -fuzz "^$2\$" -fuzztime "$3s" -fuzzminimizetime 10x "$1" 2>&1 | awk '
    { print; fflush() }
    match($0, /execs: [0-9]+/) { executions = substr($0, RSTART + 7, RLENGTH - 7) }
    /^ *context deadline exceeded$/ { late = 1 }
    /^(FAIL|exit status)/ { failed = 1 }
    /Failing input|panic:|_test\.go:/ { found = 1 }
    END { printf "summary {\"targets\":1,\"executions\":%d}\n", executions; exit failed && !(late && !found) }'
  local status=("${PIPESTATUS[@]}")
  return "${status[1]}"
}

long() { go run ./host/internal/bench/long "$@"; }

# part runs a part of check, and prints its seconds.
part() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@"
  echo "   $((SECONDS - start)) s"
}

format() {
  gofmt -l . >/dev/null # a file that cannot be read
  [ -z "$(gofmt -l .)" ] || { gofmt -d .; return 1; }
}

# linter prints the path of a linter, which it compiles when that is not done yet.
linter() { go -C plugin/toolchain/lint tool -n "$1"; }

# lint looks at a module of this repository.
lint() {
  local staticcheck
  staticcheck=$(linter staticcheck)
  (cd "$1" && go mod tidy -diff && go vet ./... && "$staticcheck" ./...)
}

# dead fails when there is a function that no program and no test reaches.
dead() {
  local deadcode found
  deadcode=$(linter deadcode)
  found=$("$deadcode" -test ./...)
  [ -z "$found" ] || { echo "$found"; return 1; }
}

# platform compiles the program for another platform, and vets everything for it, tests
# included. It takes half the time when nothing is optimized.
platform() {
  (
    export CGO_ENABLED=0 GOOS=${1%/*} GOARCH=${1#*/}
    go build -gcflags='all=-N -l' -o /dev/null ./host/cmd/parley
    go vet -gcflags='all=-N -l' ./...
    go -C host/internal/bench/step vet -gcflags='all=-N -l' ./...
  )
}

# tested runs all tests with the race detector, and prints a line for each package. In
# CI no test may skip: a skip is a test that nobody runs.
tested() {
  local log
  log=$(mktemp)
  # shellcheck disable=SC2064
  trap "rm -f '$log'" EXIT
  # go vet has run.
  if ! test_ -race -vet=off -v 2>&1 | tee "$log" | grep --line-buffered -E '^(ok|FAIL)'; then
    grep -vE '^\s*(=== |--- PASS|PASS)' "$log" | tail -n 300
    grep -E '^\s*(--- FAIL|FAIL|panic:)' "$log"
    return 1
  fi
  if [ "${CI:-}" = true ] && grep -nE '^\s*--- SKIP' "$log"; then
    echo "the tests above were skipped" >&2
    return 1
  fi
  echo "$(grep -cE '^\s*--- PASS' "$log") passed, 0 failed"
}

# benchmarks runs each benchmark once.
benchmarks() {
  git grep -l '^func Benchmark' -- '*_test.go' | xargs -n 1 dirname | sort -u | sed 's,^,./,' |
    xargs go test -race -vet=off -run '^$' -bench . -benchtime 1x
  go -C host/internal/bench/step run . -rounds 1
}

check() {
  local before
  before=$(git status --porcelain)
  part "format" format
  part "tidy, vet, staticcheck" lint .
  part "tidy, vet, staticcheck of host/internal/bench/step" lint host/internal/bench/step
  part "dead code" dead
  part "darwin/arm64" platform darwin/arm64
  part "darwin/amd64" platform darwin/amd64
  part "linux/arm64" platform linux/arm64
  part "tests with the race detector" tested
  part "each benchmark once" benchmarks
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
demo | wasm | repro | conform | bench | crash | swaps | soak | fuzz | long | check) "$verb" "$@" ;;
test) test_ "$@" ;;
help | -h | --help) help ;;
*)
  echo "build.sh: there is no verb $verb" >&2
  help >&2
  exit 2
  ;;
esac
