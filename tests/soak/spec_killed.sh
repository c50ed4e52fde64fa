#!/usr/bin/env bash
# kill -9 at KILLS (20) random moments of a spec with an image, an emulated disk and two data sets: the same
# command goes on each time; at the end there are the same cells, each run once, and nothing is left behind.
# Every third kill is followed by `blksweep node restore` instead, after which nothing may be left either.
#
#   KILLS  how many          20
#   SEED   of the moments    a random one, printed
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/../cli/helpers.bash"
# shellcheck source=tests/cli/spec_helpers.bash
. "$(dirname "$0")/../cli/spec_helpers.bash"

need_spec_disks
kills=${KILLS:-20}
seed=${SEED:-$RANDOM}
RANDOM=$seed

cat >"$tmp/spec.toml" <<TOML
db = "results.db"
workdir = "work"
repeats = 4
cache = "cold"
probe = false
ceiling = false
[[disk]]
name = "kloop$$"
size = "192MiB"
[[disk]]
name = "kdisk$$"
size = "192MiB"
model = "hdd-7200"
[[data]]
name = "small"
make = { count = 400, size = "lognormal:24KiB" }
[[data]]
name = "packed"
pack = { of = "small", compress = "zstd" }
[matrix]
order = ["random", "lba"]
merge = ["none", "device"]
TOML
cells=4 sites=4 repeats=4
cd "$tmp"

fresh() {
  rm -rf "$tmp/work" "$tmp/results.db"*
}

check_whole() {
  local rows
  no_run_twice
  [ "$(ask 'SELECT count(*) FROM experiment')" = "$sites" ] ||
    die "experiments: $(ask "SELECT experiment_id, device, device_model, layout FROM experiment")"
  [ "$(ask 'SELECT count(*) FROM cell')" = $((sites * cells)) ] || die "cells: $(ask 'SELECT count(*) FROM cell')"
  rows=$(ask 'SELECT count(*) FROM run WHERE incomplete = 0')
  [ "$rows" = $((sites * cells * repeats)) ] || die "$rows whole runs of $((sites * cells * repeats))"
  [ "$(ask "SELECT count(DISTINCT samples) || ' ' || max(samples) FROM run WHERE incomplete = 0")" = '1 400' ] ||
    die 'a run had another data set'
}

fresh
begin=$(date +%s%N)
call run spec.toml
expect_status 0
whole_ms=$((($(date +%s%N) - begin) / 1000000))
check_whole
nothing_left_of_spec 'uninterrupted'
echo "uninterrupted: $((sites * cells * repeats)) runs in $whole_ms ms; seed $seed"

killed=0 up=0 building=0 measuring=0 restored=0 sessions=0 finished=0
fresh
while ((killed < kills)); do
  "$blksweep" --quiet run spec.toml >"$tmp/.out" 2>"$tmp/.err" </dev/null &
  pid=$!
  sessions=$((sessions + 1))
  ms=$(((RANDOM * 32768 + RANDOM) % (whole_ms * 2 / 3)))
  sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
  if ! kill -KILL "$pid" 2>/dev/null; then
    status=0
    wait "$pid" || status=$?
    err=$(cat "$tmp/.err")
    expect_status 0
    check_whole
    nothing_left_of_spec 'after going on to the end'
    finished=$((finished + 1))
    fresh
    continue
  fi
  wait "$pid" 2>/dev/null || true
  killed=$((killed + 1))
  if [ -n "$(left_of_spec)" ]; then
    up=$((up + 1))
  fi
  if grep -qs unfinished "$tmp"/work/*/stamp; then
    building=$((building + 1))
  elif [ -s "$tmp/results.db" ] && [ "$(ask 'SELECT count(*) FROM run' 2>/dev/null || echo 0)" != 0 ]; then
    measuring=$((measuring + 1))
  fi
  if ((killed % 3 == 0)); then
    call node restore
    expect_status 0
    nothing_left_of_spec "node restore after kill $killed"
    restored=$((restored + 1))
  fi
done
call run spec.toml
expect_status 0
check_whole
nothing_left_of_spec 'at the end'
echo "killed $killed times ($building while something was made, $measuring between its first and last run):" \
  "$up times something was up, $restored times node restore took it down, else the next start;" \
  "$((finished + 1)) sweeps went on to their end in $((sessions + 1)) starts: same cells, no run twice, nothing left"
