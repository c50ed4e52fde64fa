#!/usr/bin/env bash
# The ceiling: where the data lie, once in a round, stored with its round; a finished sweep measures
# nothing; and the stack under a disk is a fact of the experiment.
# Side by side: on disks of its own, the emulated one far slower than the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/disk_helpers.bash
. "$(dirname "$0")/disk_helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

need_disks
sql() { sqlite3 -cmd '.timeout 10000' "$1" "$2"; }
is() { [ "$2" = "$3" ] || die "$1: '$2', wanted '$3'"; }

# --- a disk of two zones, the data in the slow one ------------------------------------------------
# Its own pace is the test's: no read of the inner zone is faster than 30 MB/s, however fast the node.
cat >"$tmp/zones.toml" <<'TOML'
name = "two-zones"
description = "120 MB/s outside, 30 MB/s inside"
kind = "rotating"
rotation = "8.333333ms"
average_seek = "8.0ms"
single_track = "0.6ms"
full_stroke = "15ms"
zone_rates = ["120MB/s", "30MB/s"]
stroke = "device"
overhead = "50us"
interface_rate = "550MB/s"
queue = 32
ageing = 0.01
cache_segments = 1
cache_segment = "256KiB"
TOML
mkdir "$tmp/mnt"
call disk start "$disk" --model none --size 4GiB --fs ext4 --mount "$tmp/mnt" --json
expect_status 0
fallocate -l 3200M "$tmp/mnt/filler"
call dataset make "$tmp/mnt/data" --count 800 --size 24KiB
expect_status 0
sync
first=$(find "$tmp/mnt/data" -type f -print0 | xargs -0 filefrag -b4096 -v |
  sed -nE 's/^ *[0-9]+: *[0-9]+\.\. *[0-9]+: *([0-9]+)\.\..*/\1/p' | sort -n | sed -n 1p)
((first * 4096 > 2 << 30)) || die "the data are not in the inner zone: block $first"
make_catalog "$tmp/mnt/data" "$tmp/data.cat"
call disk set "$disk" --model "$tmp/zones.toml"
expect_status 0

db=$tmp/inner.db
sweep=(run --catalog "$tmp/data.cat" --order lba --merge device --cache keep --no-probe --db "$db" --json)
call "${sweep[@]}" --repeats 3
expect_status 0
is 'a figure of each kind in each round' "$(sql "$db" 'SELECT group_concat(n) FROM
  (SELECT count(*) AS n FROM ceiling GROUP BY round, kind, depth)')" 1,1,1,1,1,1,1,1,1
is 'the rounds' "$(sql "$db" 'SELECT group_concat(round) FROM (SELECT DISTINCT round FROM ceiling ORDER BY round)')" 0,1,2
is 'ceilings that read no more than the data' \
  "$(sql "$db" "SELECT count(*) FROM ceiling WHERE bytes > 800 * 24576 OR bytes = 0 OR elapsed_ns <= 0
     OR abs(bytes_per_s - bytes * 1e9 / elapsed_ns) > 1")" 0
fastest=$(sql "$db" "SELECT CAST(max(bytes_per_s) AS INTEGER) FROM ceiling WHERE kind = 'sequential'")
echo "sequential ceiling of data in the 30 MB/s zone of a 120 MB/s disk: at most $((fastest / 1000000)) MB/s"
((fastest < 33000000)) || die "the ceiling is that of another zone: $fastest B/s"
((fastest > 10000000)) || die "the ceiling is far below what the zone gives: $fastest B/s"
call report "$db"
[[ $out == *'ceiling, sequential reads of'*'median of 3 rounds'* ]] || die 'the report does not show the ceiling'
call report "$db" --json
"$python" -c '
import json, sys
d = json.load(open(sys.argv[1]))
of_depth = {depth: sorted(c["bytes_per_s"] for c in d["ceilings"] if (c["kind"], c["depth"]) == ("sequential", depth)) for depth in (4, 32)}
rates = max(of_depth.values(), key=lambda rates: rates[1])
figure = d["ceiling"]["sequential"]
assert (figure["least"], figure["bytes_per_s"], figure["greatest"], figure["rounds"]) == (*rates, 3), figure
cell = d["cells"][0]
assert figure["samples_per_byte"] == 1, figure
assert abs(cell["ceiling_share"] - cell["bytes_per_s"]["median"] / rates[1]) < 1e-9, cell' "$tmp/.out" ||
  die 'the share of the ceiling is not of the median'

# Nothing is left to run: nothing is measured. One more repeat: one more round.
call "${sweep[@]}" --repeats 3
expect_status 0
is 'ceilings after a finished sweep was run again' "$(sql "$db" 'SELECT count(*) FROM ceiling')" 9
call "${sweep[@]}" --repeats 4
is 'ceilings of the round that was left' "$(sql "$db" 'SELECT group_concat(round) FROM
  (SELECT round FROM ceiling ORDER BY rowid LIMIT -1 OFFSET 9)')" 3,3,3

# --- the drive's own cache has nearly all of the data: what one pass leaves in it is no ceiling of the next ---------
sed 's/^cache_segments.*/cache_segments = 8/; s/^cache_segment =.*/cache_segment = "2MiB"/' "$tmp/zones.toml" >"$tmp/cached.toml"
call disk set "$disk" --model "$tmp/cached.toml"
expect_status 0
call run --catalog "$tmp/data.cat" --order lba --merge device --cache keep --no-probe --db "$tmp/cached.db" --repeats 3
expect_status 0
fastest=$(sql "$tmp/cached.db" "SELECT CAST(max(bytes_per_s) AS INTEGER) FROM ceiling WHERE kind = 'sequential'")
echo "with a cache of 16 MiB: at most $((fastest / 1000000)) MB/s"
((fastest < 33000000)) || die "the ceiling is that of the drive's cache: $fastest B/s"
call disk set "$disk" --model "$tmp/zones.toml"
expect_status 0

# Held against what the device has to give for the samples: files with holes give more bytes than that, tiny
# ones fewer (815 % and 4 % of "the ceiling" before).
mkdir "$tmp/mnt/holes" "$tmp/mnt/tiny"
for i in $(seq 200); do
  head -c 65536 /dev/urandom >"$tmp/mnt/holes/$i"
  truncate -s 512K "$tmp/mnt/holes/$i"
  head -c 128 /dev/urandom >"$tmp/mnt/tiny/$i"
done
sync
for set in holes tiny; do
  call run --data "$tmp/mnt/$set" --order lba --merge device --cache cold --no-probe --db "$tmp/$set.db" --repeats 2
  expect_status 0
  call report "$tmp/$set.db" --json
  "$python" -c '
import json, sys
d = json.load(open(sys.argv[1]))
cell, device = d["cells"][0], d["ceiling"]["sequential"]
share, worth = cell["ceiling_share"], device["samples_per_byte"]
print(f"{sys.argv[2]}: {share:.0%} of the ceiling; a byte read stands for {worth:.3f}")
assert abs(worth - {"holes": 8, "tiny": 1 / 32}[sys.argv[2]]) < 0.01, worth
assert share < 2, share
has_to_give = device["bytes_per_s"] * worth
assert abs(share * has_to_give / cell["bytes_per_s"]["median"] - 1) < 0.01, (share, cell["bytes_per_s"], device)' "$tmp/.out" "$set" || die "$set: the share is not of what the device has to give"
done
call disk stop "$disk"
expect_status 0
echo 'emulated disk: the zone of the data, in rounds, and none for a finished sweep'

# --- direct I/O of a loop device, switched off between two sessions and during one ---------------
at_exit loopfs_remove
loopfs_make "$tmp/image" "$tmp/loop" 200M ext4 || skip "$loopfs_reason"
loop=${loopfs_device#/dev/}
[ "$(cat "/sys/block/$loop/loop/dio")" = 1 ] || skip "no direct I/O on files of $tmp"
make_data "$tmp/loop/data" 300
make_catalog "$tmp/loop/data" "$tmp/loop.cat"
db=$tmp/loop.db
session=(run --catalog "$tmp/loop.cat" --cache cold --no-probe --db "$db" --json)
doubts() { sql "$db" "SELECT count(*) FROM warning JOIN run USING (run_id) JOIN cell USING (cell_id)
  WHERE experiment_id = $1 AND text LIKE 'cold: $loop reads $tmp/image without direct I/O%cannot be known%'"; }
fact() { sql "$db" "SELECT value FROM layer_fact WHERE experiment_id = $1 AND disk = '$loop' AND name = '$2'"; }
call "${session[@]}" --repeats 2
expect_status 0
is 'a cold run on a loop device with direct I/O has no doubts' "$(doubts 1)" 0
is 'stored facts' "$(fact 1 kind) $(fact 1 backing_file) $(fact 1 direct_io)" "loop $tmp/image 1"
losetup --direct-io=off "$loopfs_device"
call "${session[@]}" --repeats 3
expect_status 0
is 'other facts are another experiment, with runs of its own' "$(sql "$db" 'SELECT group_concat(n) FROM
  (SELECT count(*) AS n FROM run JOIN cell USING (cell_id) GROUP BY experiment_id)')" 2,3
is 'stored facts of the second' "$(fact 2 direct_io)" 0
is 'each cold run says what it cannot know' "$(doubts 2)" 3
call report "$db" --json
"$python" -c '
import json, sys
layers = json.load(open(sys.argv[1]))["host"]["layers"]
assert {"disk": sys.argv[2], "name": "direct_io", "value": "0"} in layers, layers' "$tmp/.out" "$loop" ||
  die 'the report does not have the layers'
losetup --direct-io=on "$loopfs_device"
call "${session[@]::${#session[@]}-1}" --repeats 2
[ "$(awk '$1 == "lba" { print $2; exit }' <<<"$out")" = 2 ] || die 'the table is of the experiment under other conditions'
call "${session[@]}" --repeats 3
is 'the first conditions go on in the first experiment' "$(sql "$db" 'SELECT count(*) FROM run JOIN cell
  USING (cell_id) WHERE experiment_id = 1')" 3

"$blksweep" --quiet "${session[@]}" --repeats 200 --seed 9 >/dev/null 2>&1 &
pid=$!
end_at_exit "$pid"
runs() { sql "$db" "SELECT count(*) FROM run JOIN cell USING (cell_id) WHERE experiment_id = 3 AND incomplete = $1"; }
until [ "$(runs 0)" -gt 0 ] || ! kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
losetup --direct-io=off "$loopfs_device"
until [ "$(runs 1)" -gt 0 ] || ! kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
kill -INT "$pid" 2>/dev/null || true
wait "$pid" || true
is 'runs under another stack than their experiment' "$(sql "$db" "SELECT count(*) > 0 FROM run WHERE
  incomplete_reason LIKE '%what the disk stands on changed: $loop direct_io: 1, now 0%'")" 1
echo 'loop device: its direct I/O is a fact of the experiment'
