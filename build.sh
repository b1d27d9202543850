#!/usr/bin/env bash
# Builds, tests and measures the project: ./build.sh help lists the verbs. All need Go.
# wasm and repro also need LLVM 19, and report it if it is missing. conform, soak and long
# need the toolchains of the languages that they run.
set -euo pipefail
cd "$(dirname "$0")"

help() {
  cat <<'TEXT'
usage: ./build.sh VERB

  demo     import the sample OpenClaw directory and demonstrate the tools
  test     all tests except the one of the MCP clients; tests that need another toolchain skip and give the reason
           (CI=true: they fail instead)
  lint     format, tidy, vet, staticcheck, dead code; fetches the linters at its first use
  check    lint, vet for other platforms, tests with the race detector (CI=true: a skipped test is a failure),
           each benchmark once; fails if any of them changed the tree
  wasm     compile plugin/ with TinyGo to plugin/wasm/parley.wasm and write its lock file
  repro    compile twice in different directories and compare with the committed module
  conform  check that the module behaves the same in every host language: all recordings, a small host, failures and
           100,000 calls in Node.js, Python, Rust and Java (examples/); in Go also the plugin compiled by Go's compiler;
           and the official MCP clients for TypeScript: ./build.sh conform [--changed] [go|clients|node|python|rust|java]...
           --changed skips languages whose inputs have not changed since they passed on this machine; downloads and
           results are stored in ~/.cache/parley/conform, or $PARLEY_CONFORM_CACHE
  bench    measure steps against native Go and the Extism SDK, then gateways on generated stores: ratios, requests
           per second, overhead of sends, and memory
  crash    kill and stop Parley at every commit and external effect of sends and spawns, and kill it at random under load:
           500 times during sends (-kills N), 300 times during spawns (-spawn-kills N); -only TEXT selects parts by name,
           such as telegram or random; -seed N repeats the random choices
  swaps    swap the plugin of a gateway 1000 times under load (-swaps N): no call may fail, and every answer must be from
           an active version
  soak     run a million steps in the Go host and in one instance in Node (-steps N): fails if memory grows; -only go or node
  fuzz     run every fuzz test for a limited time: ./build.sh fuzz [SECONDS per test, default 20]
  long     crash, swaps, soak, fuzz (a minute each), bench, conform and repro with their full numbers:
           ./build.sh long [STAGE...] [-seed N]; appends the counts of each to ~/.cache/parley/long.jsonl, or
           $PARLEY_LONG_LOG, and prints the totals of this revision over all runs
  help     this text
TEXT
}

demo() {
  echo "Compiling; the first time takes up to a minute." >&2
  go run ./host/cmd/parley demo "$@"
}

# test_ runs the tests. TESTFLAGS adds flags of go test, such as -race or -run NAME.
test_() {
  # The default timeout of go test is ten minutes. A package that takes two minutes can
  # exceed it with the race detector on a busy machine. The verb conform runs TestClients.
  # shellcheck disable=SC2086
  go test -timeout 30m -skip '^TestClients$' ${TESTFLAGS:-} ./... "$@"
}

wasm() { go run ./plugin/toolchain build; }

repro() { go run ./plugin/toolchain repro; }

# run_test runs a test by its name, and fails if no such test ran.
run_test() {
  local log
  log=$(go test -count=1 -v -run "^$1\$" "$2") || { echo "$log"; return 1; }
  echo "$log"
  grep -qE "^--- PASS: $1 " <<<"$log"
}

# digest prints a digest of the files and toolchain versions on which a stage of conform
# depends. A missing tracked file changes the digest too.
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
      echo "build.sh conform: unknown stage $what; stages are go, clients, node, python, rust, java" >&2
      return 2
      ;;
    esac
    passed=$PARLEY_CONFORM_CACHE/passed/$what-$(digest "$what")
    if $changed && [ -e "$passed" ]; then
      echo "== $what: unchanged since it passed here (digest ${passed##*-})"
      continue
    fi
    rm -f "$passed"
    conform_stage "$what"
    mkdir -p "${passed%/*}"
    touch "$passed"
    echo "summary {\"$what\":1}"
  done
}

# conform_stage runs one stage of conform.
conform_stage() {
  case $1 in
  go)
    echo "== go: $(go version | cut -d ' ' -f 3), $(go list -m github.com/tetratelabs/wazero)"
    run_test TestRecordings ./host
    run_test TestOtherCompiler ./host/internal/engine
    run_test Example ./examples/gateway
    ;;
  clients) PARLEY_CONFORM=1 run_test TestClients ./host/cmd/parley ;;
  *) bash "examples/$1/conform.sh" ;;
  esac
}

bench() {
  echo "== a step: native Go, the engine with direct memory and with kernel calls, the official Extism SDK"
  go -C host/internal/bench/step run .
  echo "== reset of an instance: copying its snapshot, or mapping it copy-on-write"
  go test -run '^$' -bench 'BenchmarkRestore' ./host/internal/engine/instance
  echo "== limit of a step: none, fuel, the engine's cancellation"
  go test -run '^$' -bench 'BenchmarkFuel' ./host/internal/engine
  echo "== commits with and without group commit"
  go test -run '^$' -bench 'BenchmarkUpdate' ./host/store/sqlite
  echo "== a gateway over HTTP, with a small and a large store; sends"
  go run ./host/internal/bench "$@"
}

crash() { go run ./host/internal/e2e/crash "$@"; }

swaps() { go run ./host/internal/e2e/swaps "$@"; }

soak() { go run ./host/internal/e2e/soak "$@"; }

fuzz() {
  local seconds=${1:-20} targets pkg name failed=()
  # go test -list prints the targets of a package first, and then the package.
  targets=$(go test -list '^Fuzz' ./... | awk '/^Fuzz/ { names[n++] = $1 } $1 == "ok" { for (i = 0; i < n; i++) print $2, names[i]; n = 0 }')
  while read -r pkg name; do
    echo "== $pkg $name"
    fuzz_target "$pkg" "$name" "$seconds" || failed+=("$pkg $name")
  done <<<"$targets"
  [ ${#failed[@]} -eq 0 ] || { printf 'failed: %s\n' "${failed[@]}" >&2; return 1; }
}

# fuzz_target runs one target. At the end of the time go test sometimes fails with
# "context deadline exceeded", although no input failed. The target has then passed.
fuzz_target() {
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

# part runs a part of check and prints its duration in seconds.
part() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@"
  echo "   $((SECONDS - start)) s"
}

format() {
  gofmt -l . >/dev/null # fails if gofmt fails, unlike the substitution below
  [ -z "$(gofmt -l .)" ] || { gofmt -d .; return 1; }
}

# linter prints the path of a linter, and compiles it if necessary.
linter() { go -C plugin/toolchain/lint tool -n "$1"; }

# lint_module checks one Go module of this repository.
lint_module() {
  local staticcheck
  staticcheck=$(linter staticcheck)
  (cd "$1" && go mod tidy -diff && go vet ./... && "$staticcheck" ./...)
}

# dead_code fails if a function is not reachable from any program or test.
dead_code() {
  local deadcode found
  deadcode=$(linter deadcode)
  found=$("$deadcode" -test ./...)
  [ -z "$found" ] || { echo "$found"; return 1; }
}

lint() {
  part "format" format
  part "tidy, vet, staticcheck" lint_module .
  part "tidy, vet, staticcheck of host/internal/bench/step" lint_module host/internal/bench/step
  part "dead code" dead_code
}

# platform compiles the program for another platform and vets all packages for it, tests
# included. Disabled optimizations halve the time.
platform() {
  (
    export CGO_ENABLED=0 GOOS=${1%/*} GOARCH=${1#*/}
    go build -gcflags='all=-N -l' -o /dev/null ./host/cmd/parley
    go vet -gcflags='all=-N -l' ./...
    go -C host/internal/bench/step vet -gcflags='all=-N -l' ./...
  )
}

# race_tests runs all tests with the race detector and prints a line for each package. In
# CI no test may skip, because no other job would run it.
race_tests() {
  local log
  log=$(mktemp)
  # shellcheck disable=SC2064
  trap "rm -f '$log'" EXIT
  # -vet=off: check has already run go vet.
  if ! test_ -race -vet=off -v 2>&1 | tee "$log" | grep --line-buffered -E '^(ok|FAIL)'; then
    grep -vE '^\s*(=== |--- PASS|PASS)' "$log" | tail -n 300
    grep -E '^\s*(--- FAIL|FAIL|panic:)' "$log"
    return 1
  fi
  if [ "${CI:-}" = true ] && grep -nE '^\s*--- SKIP' "$log"; then
    echo "build.sh check: the tests above were skipped, which CI does not allow" >&2
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
  lint
  part "darwin/arm64" platform darwin/arm64
  part "darwin/amd64" platform darwin/amd64
  part "linux/arm64" platform linux/arm64
  part "tests with the race detector" race_tests
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
demo | wasm | repro | conform | bench | crash | swaps | soak | fuzz | long | lint | check) "$verb" "$@" ;;
test) test_ "$@" ;;
help | -h | --help) help ;;
*)
  echo "build.sh: unknown verb $verb" >&2
  help >&2
  exit 2
  ;;
esac
