#!/usr/bin/env bash
# What became of the order on its way to the driver: stored with a run by layer, and told by one sentence for
# all cells of which the same is true. Without a scheduler the order reaches the driver, whatever it is; what is
# submitted backwards is called reversed; a scheduler that sorts undoes it. What cannot be known is left out.
# Side by side: on a disk of its own; asks for the order of its own reads, not for times or caches
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

own_disk 200M

count=1500
"$blksweep" --quiet dataset make "$loopfs_mount/data" --count $count --size 16KiB >/dev/null
make_catalog "$loopfs_mount/data" "$tmp/data.cat"
db() { sqlite3 "$tmp/results.db" "$1"; }
all() { db 'SELECT layer, reads, kept, tau, reversed, batches, batches_reversed, verdict FROM request_order'; }
sweep() {
  rm -f "$tmp/results.db"
  call run --catalog "$tmp/data.cat" --no-ceiling --db "$tmp/results.db" --merge none "$@"
  expect_status 0 3
}

sweep --order lba,random,reverse --scheduler none --depth 1,256
[ "$(db 'SELECT count(*) FROM probe')" = 6 ] || skip 'the kernel lets no probe watch'
[ "$(db "SELECT count(*) FROM request_order WHERE layer = 'issue' AND reads = $count AND kept >= 0.95 AND tau >= 0.9
  AND reversed < 0.05")" = 6 ] || die "kept: $(all)"
[ "$(db "SELECT count(*) FROM request_order WHERE layer NOT IN ('issue', 'complete')")" = 0 ] || die "not followed: $(all)"
[ "$(db 'SELECT count(*) FROM probe WHERE splits IS NOT NULL')" = 6 ] || die 'splits'
grep -q 'the order reached the driver' "$tmp/.out" || die 'no sentence'
[ "$(grep 'the order reached the driver' "$tmp/.out" | sed 's/^.*: the order/the order/' | sort | uniq -d)" = '' ] ||
  die "one line for what is the same: $(cat "$tmp/.out")"

# --- backwards, layer by layer ---------------------------------------------------------------------
sweep --order lba --depth 32 --scheduler none --submit plan,reverse --nomerges 2 --probe-layers
of() { db "SELECT count(*) FROM request_order JOIN run USING (run_id) JOIN cell_setting s USING (cell_id)
  WHERE s.name = 'submit' AND s.value = '$1' AND $2"; }
[ "$(of plan "layer IN ('queue', 'issue') AND reads = $count AND kept > 0.95 AND batches_reversed = 0")" = 2 ] ||
  die "as planned: $(all)"
[ "$(of reverse "layer IN ('queue', 'issue') AND reversed > 0.95 AND batches > 100 AND batches_reversed > 0.95 * batches
  AND verdict GLOB 'reversed in every batch before the *'")" = 2 ] || die "backwards: $(all)"

# --- schedulers that sort, under a random plan -----------------------------------------------------
for scheduler in mq-deadline bfq; do
  grep -qw "$scheduler" "/sys/block/${loopfs_device#/dev/}/queue/scheduler" || continue
  sweep --order random --depth 128 --refill 100% --scheduler $scheduler --probe-layers
  # Of a request that another one joined later only the first is inserted.
  [ "$(db "SELECT count(*) FROM request_order WHERE layer IN ('queue', 'insert') AND reads > 0.9 * $count AND kept > 0.95")" = 2 ] ||
    die "$scheduler: what comes in is as planned: $(all)"
  [ "$(db "SELECT count(*) FROM request_order WHERE layer = 'issue' AND reads = $count AND kept < 0.8
    AND verdict GLOB 'the order did not reach the driver*'")" = 1 ] || die "$scheduler sorts: $(all)"
  echo "$scheduler: $(db "SELECT group_concat(verdict, '; ') FROM request_order")"
done

# --- unknown ---------------------------------------------------------------------------------------
call run --catalog "$tmp/data.cat" --no-ceiling --merge none --epochs 2 --shuffle none --json
expect_status 0 3
/usr/bin/python3 - "$tmp/.out" <<'PY' || die 'of two epochs nothing is known'
import json, sys
probe = json.load(open(sys.argv[1]))["runs"][-1]["probe"]
assert probe["order"] == [], probe
PY
