#!/usr/bin/env bash
# Loading strategies: every way of staging delivers the bytes, what a copy does not have is refused, and
# the experiment's script makes its data, runs every step, goes on where it was cut off, and draws.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
script=$(realpath "$(dirname "$0")/../../scripts/experiments/loading-strategies.sh")

# --- staging -------------------------------------------------------------------------------------
make_data "$tmp/small" 40
staged() { call run --data "$tmp/small" --batch 8 --no-probe --no-ceiling --json --verify --compute 100us "$@"; }
for way in 'host pinned,per-batch 2' 'emulated pinned,pageable,per-batch 3'; do
  read -r kind staging count <<<"$way"
  staged --copy "$kind" --staging "$staging" --device-slots 1,2
  expect_status 0
  expect "$kind: not every way of staging gives the samples back" \
    "len(runs) == 2 * $count and all(r['samples'] == 40 and r['wrong_samples'] == 0 for r in runs)"
done
staged --copy host --staging pageable
expect_error 2 '--staging pageable' '--copy host has only pinned, per-batch' '--copy cuda'
staged --copy host,emulated --staging register
expect_error 2 '--staging register' '--copy host has only' '--copy cuda'
staged --staging per-batch
expect_error 2 '--copy none has only pinned' '--copy cuda'

# --- the script ----------------------------------------------------------------------------------
have_modules numpy || skip 'needs numpy for the arrays'
limits=none
call doctor --json "$tmp"
if [ "$(id -u)" = 0 ] && "$python" -c 'import json, sys
sys.exit(not any(c["name"] == "cgroup I/O" and c["state"] == "ok" for c in json.load(sys.stdin)["checks"]))' \
  <"$tmp/.out"; then
  limits=none,1000MB/s
fi
limit_count=$(tr ',' '\n' <<<"$limits" | wc -l)
export BLKSWEEP=$blksweep SIZE=1536KiB ARRAY=49152 LIMITS=$limits REPEATS=2 CODECS=zstd BATCH=8 COMPUTE=200us \
  WINDOW=8MiB THREADS=1

# strategies : the script in the background, its number in $script_pid.
strategies() {
  "$script" "$tmp/set" "$tmp/work" "$tmp/steps.db" >"$tmp/.out" 2>"$tmp/.err" </dev/null &
  script_pid=$!
}
stored() { sqlite3 "$tmp/steps.db" "$1" 2>/dev/null || echo 0; }

# Cut off after some runs: nothing half made stays, nobody is left running, and what was stored is kept.
strategies
for _ in $(seq 300); do
  [ "$(stored 'SELECT count(*) FROM run')" -lt 3 ] || break
  kill -0 "$script_pid" 2>/dev/null || break
  sleep 0.05
done
kill -TERM "$script_pid"
status=0
wait "$script_pid" || status=$?
err=$(cat "$tmp/.err")
expect_status 143
[ ! -e "$tmp/set.part" ] || die 'a half made data set stays'
pgrep -f "blksweep.*$tmp/work" >/dev/null && die 'a run outlives its script'
kept=$(stored 'SELECT max(run_id) FROM run')
[ "$kept" -ge 3 ] || die 'runs before the interruption are gone'

strategies
status=0
wait "$script_pid" || status=$?
out=$(cat "$tmp/.out")
err=$(cat "$tmp/.err")
# Where data cannot be cold (no root, no disk below), runs are incomplete and say so.
case $(stat -fc %T "$tmp")-$(id -u) in
  ext2/ext3-0 | xfs-0 | btrfs-0) expect_status 0 ;;
  *) expect_status 0 3 ;;
esac
wanted=$((8 * limit_count * 2))
# A run that the interruption met in its middle is kept as that, and measured again.
[ "$(stored "SELECT count(*), count(DISTINCT cell_id) FROM run WHERE incomplete_reason IS NULL OR
    incomplete_reason NOT LIKE 'interrupted%'")" = "$wanted|$((wanted / 2))" ] ||
  die "not two repeats of eight steps: $(stored 'SELECT label, count(*) FROM run JOIN cell USING (cell_id)
    JOIN disk USING (experiment_id) GROUP BY label')"
[ "$status" = 3 ] || [ "$(stored 'SELECT count(*) FROM good_run')" = "$wanted" ] || die 'a step is incomplete'
[ "$(stored "SELECT count(*) FROM run WHERE run_id <= $kept")" = "$kept" ] || die 'what was stored was run again'
[ "$(stored 'SELECT count(DISTINCT samples) FROM good_run')" = 1 ] || die 'steps differ in their samples'
# One setting after the other: repeats are interleaved.
[ "$(stored 'SELECT max(repeat) FROM (SELECT repeat FROM run ORDER BY run_id LIMIT 8)')" = 0 ] ||
  die 'a step was repeated before the others had their turn'
# Between a step and the one before nothing else changes.
changes=$(stored "WITH step AS (SELECT CAST(label AS INTEGER) AS n, name, value FROM disk JOIN cell USING
    (experiment_id) JOIN cell_setting USING (cell_id) WHERE label NOT LIKE '1 %' AND cell_id IN (SELECT
    cell_id FROM cell_setting WHERE name = 'bandwidth-limit' AND value = 'none'))
  SELECT b.n || ':' || group_concat(b.name) FROM step a JOIN step b ON b.n = a.n + 1 AND b.name = a.name
    AND b.value <> a.value GROUP BY b.n ORDER BY b.n")
[ "$changes" = $'3:prefetch\n4:staging\n5:staging\n6:device-slots\n8:decode-threads' ] ||
  die "settings change: $changes"
if [ "$status" = 0 ]; then
  for step in '1  file per sample' '2  packed shards' '3  reading ahead' '4  buffers reused' '5  pinned ring' \
    '6  overlapped copy' '7  fp16' '8  fp16 zstd'; do
    [ "$(grep -c "^$step  " <<<"$out")" = "$limit_count" ] || die "the table lacks step $step"
  done
fi
if have_modules matplotlib; then
  for figure in strategies.svg strategies.pdf strategies.png; do
    [ -s "$tmp/steps.report/figures/$figure" ] || die "$figure is not drawn"
  done
fi
