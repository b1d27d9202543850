#!/usr/bin/env bash
# Builds this example, runs its tests and its programs, and says how long each stage took.
# What Maven downloads goes to the cache folder, what it builds to target/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

cache=${PARLEY_CONFORM_CACHE:-$HOME/.cache/parley-conform}/java
mkdir -p "$cache"
maven=(mvn -B -ntp "-Dmaven.repo.local=$cache/maven")
parley=(java -jar target/parley.jar)

# Its output is shown when it fails; of a stage that passes the last line that matches.
stage() { # NAME PATTERN COMMAND…
  local name=$1 pattern=$2 start=$EPOCHREALTIME status=ok
  shift 2
  "$@" >"$cache/$name.log" 2>&1 || status=FAILED
  LC_ALL=C printf '%-8s %-6s %6.1f s  %s\n' "$name" "$status" \
    "$(LC_ALL=C awk "BEGIN {print ${EPOCHREALTIME/,/.} - ${start/,/.}}")" "$(grep -E -- "$pattern" "$cache/$name.log" | tail -n 1)"
  if [ "$status" != ok ]; then
    cat "$cache/$name.log"
    exit 1
  fi
}

demo() { diff ../demo.txt <("${parley[@]}" demo) && echo "as in ../demo.txt"; }

stage build 'BUILD SUCCESS' "${maven[@]}" package -DskipTests
"${parley[@]}" version
stage tests 'Tests run:' "${maven[@]}" test
stage replay 'passed' "${parley[@]}" replay
stage demo 'demo.txt' demo
stage failures '^an unknown tool' "${parley[@]}" failures
stage calls ' calls/s, memory' "${parley[@]}" calls 100000
