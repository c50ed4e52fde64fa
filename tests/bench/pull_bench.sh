#!/usr/bin/env bash
# The pull interface against `run`: samples a second of the same epoch, as ratios within one session, each
# pair interleaved and in turn first. A measurement, never an assertion.   REPEATS=9   FILES=50000
set -euo pipefail

repeats=${REPEATS:-9}
files=${FILES:-50000}
data=$BENCH_DIR/data
pull=$(dirname "$BLKSWEEP")/pull_program

"$BLKSWEEP" --quiet dataset make "$data" --count "$files" --size 4KiB
sync -f "$data"

run() { # ORDER MERGE : nanoseconds
  "$BLKSWEEP" --quiet run --data "$data" --order "$1" --merge "$2" --cache keep --no-probe --no-ceiling \
    --seed 1 --json | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["runs"][0]["epoch_ns"])'
}
pull() {
  "$pull" "$data" "order=$1" "merge=$2" quiet | cut -d' ' -f3
}

for policy in 'random none' 'lba none' 'lba device'; do
  read -r order merge <<<"$policy"
  run "$order" "$merge" >/dev/null # inodes are in memory for both from now on
  rows=()
  for ((i = 0; i < repeats; i++)); do
    if ((i % 2)); then
      first=$(run "$order" "$merge")
      rows+=("$first $(pull "$order" "$merge")")
    else
      first=$(pull "$order" "$merge")
      rows+=("$(run "$order" "$merge") $first")
    fi
  done
  printf '%s\n' "${rows[@]}" | /usr/bin/python3 -c '
import statistics, sys
pairs = [tuple(map(int, line.split())) for line in sys.stdin]
ratios = [run / pull for run, pull in pairs]
median = statistics.median
print(f"   {sys.argv[1]:12} pulled / run {median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f}), "
      f"run {median(r for r, _ in pairs) / 1e6:.0f} ms")' "$policy"
done
