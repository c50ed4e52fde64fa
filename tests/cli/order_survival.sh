#!/usr/bin/env bash
# What became of the order at the driver: stored with a run, and told by one sentence a cell. Without a
# scheduler the order reaches it, whatever it is; what cannot be known is NULL.
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

sweep=(--catalog "$tmp/data.cat" --no-ceiling --db "$tmp/results.db" --merge none)
call run "${sweep[@]}" --order lba,random,reverse --scheduler none --depth 1,32,256
expect_status 0 3
[ "$(db 'SELECT count(*) FROM probe')" = 9 ] || skip 'the kernel lets no probe watch'
printf '%s\n' "$out" | grep 'the driver' || die 'no sentence'
[ "$(db "SELECT count(*) FROM probe WHERE order_reads = $count AND order_kept >= 0.95 AND order_tau >= 0.9
  AND order_reversed < 0.05")" = 9 ] || die "kept: $(db 'SELECT order_reads, order_kept, order_tau, order_reversed FROM probe')"
[ "$(grep -c 'the order reached the driver' "$tmp/.out")" = 9 ] || die 'a sentence a cell'

# --- unknown ---------------------------------------------------------------------------------------
call run "${sweep[@]}" --epochs 2 --shuffle none --json
expect_status 0 3
/usr/bin/python3 - "$tmp/.out" <<'PY' || die 'of two epochs nothing is known'
import json, sys
probe = json.load(open(sys.argv[1]))["runs"][-1]["probe"]
assert probe["order_kept"] is None and probe["order_reads"] is None, probe
PY
