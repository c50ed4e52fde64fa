#!/usr/bin/env bash
# Runs every fuzz target of a build for some seconds; the corpus stays for the next time.
#
#   scripts/fuzz.sh BUILD SECONDS [NAME...]     NAME without _fuzz: only these targets
#
# First inputs come from tests/fuzz/seeds/NAME/, which every target has: a few seconds from nothing would
# never come past a header. exit: 0 nothing found, 1 a crash, no such target or no seeds.
set -euo pipefail

build=$1
seconds=$2
shift 2
failed=0
fuzzed=0

wanted() {
  local name=$1
  shift
  [ $# = 0 ] || [[ " $* " == *" $name "* ]]
}

fuzz() {
  local program=$1 name=$2 runs
  local corpus=$build/corpus/$name log=$build/$name.log seeds=tests/fuzz/seeds/$name
  fuzzed=$((fuzzed + 1))
  if [ -z "$(ls "$seeds" 2>/dev/null)" ]; then
    echo "fuzz: $name: no stored corpus: put small valid inputs into $seeds/"
    failed=1
    return
  fi
  mkdir -p "$corpus"
  if ! "$program" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2048 -max_len=65536 \
    -artifact_prefix="$build/$name-" -print_final_stats=1 "$corpus" "$seeds" >"$log" 2>&1; then
    echo "fuzz: $name: FOUND; the input is named below (whole log: $log)"
    tail -n 30 "$log"
    failed=1
    return
  fi
  runs=$(awk '/number_of_executed_units/ { print $2 }' "$log")
  echo "fuzz: $name: nothing in $runs inputs, $seconds s, corpus $(find "$corpus" -type f | wc -l)"
}

for program in "$build"/fuzz/*_fuzz; do
  name=$(basename "$program" _fuzz)
  if wanted "$name" "$@"; then
    fuzz "$program" "$name"
  fi
done
if [ "$fuzzed" = 0 ]; then
  echo "fuzz: no target in $build/fuzz is called ${*:-anything}"
  failed=1
fi
exit "$failed"
