#!/usr/bin/env bash
# Builds this host in target/, and checks that it conforms.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../conform.sh
maven=(mvn -B -ntp "-Dmaven.repo.local=$cache/maven")
parley=(java -jar target/parley.jar)

stage build 'BUILD SUCCESS' "${maven[@]}" package -DskipTests
stage version '[0-9]' "${parley[@]}" version
stage tests 'Tests run:' "${maven[@]}" test
stage replay '^[1-9][0-9]* passed, 0 failed$' "${parley[@]}" replay
stage demo 'demo.txt' demo "${parley[@]}" demo
stage failures '^an unknown tool' "${parley[@]}" failures
stage calls 'calls/s, memory' "${parley[@]}" calls 100000
