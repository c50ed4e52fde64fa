#!/usr/bin/env bash
# What a run asks of the node: it gets it, stores asked and got, and the node is as before afterwards.
# Side by side: on a disk of its own, whose settings and limits alone it changes.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"
# shellcheck source=tests/cli/node_helpers.bash
. "$(dirname "$0")/node_helpers.bash"

[ "$(id -u)" = 0 ] || skip 'needs root to change queue settings'
at_exit loopfs_remove
loopfs_make "$tmp/disk.img" "$tmp/disk" 1GiB ext4 || skip "$loopfs_reason"
disk=${loopfs_device#/dev/}

call dataset make "$tmp/disk/data" --count 400 --size 1MiB
expect_status 0
make_catalog "$tmp/disk/data" "$tmp/data.cat"
run() { call run --catalog "$tmp/data.cat" --no-probe --no-ceiling --json "$@"; }
before=$(node_state "$disk")
unchanged() { [ "$(node_state "$disk")" = "$before" ] || die "$1: the node is not as before: $(diff <(echo "$before") <(node_state "$disk"))"; }

# --- queue: swept, stored, restored -----------------------------------------------------------
run --scheduler none,bfq,mq-deadline --nr-requests 48 --read-ahead 256KiB --buffered --db "$tmp/results.db"
expect_status 0
expect 'every scheduler has its run' '[r["cell"]["scheduler"] for r in runs] != [] and
  sorted(r["cell"]["scheduler"] for r in runs) == ["bfq", "mq-deadline", "none"]'
expect 'the kernel had what was asked' 'all(
  {"scheduler", "nr_requests", "read_ahead_kb"} == {s["name"] for s in r["node"]} and
  all(s["asked"] == s["got"] for s in r["node"]) and
  [s["got"] for s in r["node"] if s["name"] == "scheduler"] == [r["cell"]["scheduler"]] for r in runs)'
nothing_refused() { expect "$1: taken, and yet a warning" 'not any("the kernel has" in w for r in runs for w in r["warnings"])'; }
nothing_refused 'a sweep over schedulers'
unchanged 'a sweep over schedulers'
[ "$(sqlite3 "$tmp/results.db" "SELECT count(*) FROM node_setting WHERE name = 'nr_requests' AND asked = '48' AND got = '48'")" = 3 ] ||
  die 'the database does not have asked and got'
[ "$(sqlite3 "$tmp/results.db" "SELECT DISTINCT before FROM node_setting WHERE name = 'read_ahead_kb'")" = \
  "$(cat "/sys/block/$disk/queue/read_ahead_kb")" ] || die 'the database does not have the value before'

# The kernel reads ahead whole pages.
run --read-ahead 254KiB --buffered
expect_status 0
expect 'a setting that the kernel has rounded is told' 'any("read_ahead_kb: asked 254, the kernel has" in w for r in runs for w in r["warnings"])'
unchanged 'a rounded setting'

# --- bad input: one line, nothing changed, found before the first run -----------------------------
run --scheduler none,quantum
expect_error 1 quantum "$disk has" bfq
run --scheduler bfq --nr-requests 999999999
expect_error 1 nr_requests 999999999
unchanged 'a refused setting'
run --memory-limit none,1MiB --repeats 3 --db "$tmp/none.db"
expect_error 2 '1 MiB' 'at least 8 MiB'
[ "$(sqlite3 "$tmp/none.db" 'SELECT count(*) FROM run' 2>/dev/null || echo 0)" = 0 ] ||
  die 'a limit that cannot be was found after runs before it'
run --bind cpu:4095
expect_error 2 4095
run --bandwidth-limit 0MB/s
expect_error 2 '0MB/s'
run --pin-pages 25
expect_error 2 "'25'"
run --ioprio fast
expect_error 2 fast
mkdir "$tmp/ram"
mount -t tmpfs tmpfs "$tmp/ram"
at_exit "umount '$tmp/ram' 2>/dev/null"
call dataset make "$tmp/ram/data" --count 10 --size 4KiB
expect_status 0
call run --data "$tmp/ram/data" --buffered --no-probe --no-ceiling --bandwidth-limit 1MB/s
expect_error 77 'no block device' --bandwidth-limit
umount "$tmp/ram"
chmod 755 "$tmp"
call as_nobody run --catalog "$tmp/data.cat" --scheduler bfq --no-probe
expect_error 77 root
unchanged 'bad input'
echo 'queue: fine'

# --- memory limit: bounds the page cache of the run -------------------------------------------------
mib64=$((64 * 1024 * 1024))
run --memory-limit 64MiB --buffered --cache cold
expect_status 0
expect 'page cache above the limit' "0 < run['limit_use']['cache_peak_bytes'] <= $mib64 * 1.05"
expect 'more stays resident than the limit allows' "run['resident_after'] * run['bytes'] <= $mib64 * 1.05"
expect 'asked and got' "any(s['asked'] == s['got'] == '$mib64' for s in run['node'])"
expect 'every sample came' "run['missing_samples'] == 0 and run['bytes'] > 5 * $mib64"
all_stays_without_a_limit() {
  run --buffered --cache cold
  expect 'without a limit all of it stays' 'run["resident_after"] > 0.99 and run["limit_use"] is None'
}
in_three_tries all_stays_without_a_limit
unchanged 'a memory limit'

# --- bandwidth limit: the kernel grants 0.1 s and what is in flight (8 MiB) ahead, so that 5 % of it
# take 400 MiB at 100 MB/s (docs/node-limits.md) ----------------------------------------------------
for io in direct buffered; do
  run --bandwidth-limit 100MB/s "--$io" --cache cold --depth 8
  expect_status 0
  expect "$io: faster than its limit" 'run["bytes"] * 1e9 / run["epoch_ns"] < 1.05 * 100e6'
done
unchanged 'a bandwidth limit'

# --- the same limits on real fio, which runs in the same kind of group ------------------------------
# fio_under IO OPTION... : bytes per second of a fio that reads all of the data
fio_under() {
  local io=$1
  shift
  "$blksweep" --quiet node exec --device "$disk" --bandwidth-limit 100MB/s "$@" -- fio --name=limit --readonly \
    --opendir="$tmp/disk/data" --rw=read --bs=1M --ioengine=psync --direct="$io" --output-format=json \
    --output="$tmp/fio.json" >&2 || die "fio in node exec: $?"
  "$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["jobs"][0]["read"]["bw_bytes"])' "$tmp/fio.json"
}
if command -v fio >/dev/null; then
  direct=$(fio_under 1)
  call cache drop
  buffered=$(fio_under 0 --memory-limit 64MiB)
  for rate in "$direct" "$buffered"; do
    ((rate <= 105000000)) || die "fio reads $rate bytes/s under a limit of 100 MB/s"
  done
  call cache stat "$tmp/disk/data" --json
  "$python" -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["resident_bytes"] > 1.05 * (64 << 20))' \
    "$tmp/.out" || die 'fio left more in the page cache than its limit'
  echo "fio under 100 MB/s: $direct direct, $buffered buffered in 64 MiB"
  unchanged 'fio under limits'
fi
echo 'limits: fine'

# --- pins ---------------------------------------------------------------------------------------
run --pin-inodes --pin-pages 25% --cache cold --buffered
expect_status 0
expect 'the pinned part is resident and the run counts as cold' '0.2 < run["resident_before"] < 0.3 and not run["incomplete"]'
expect 'the device reads the rest' '0.65 < run["device_bytes"] / run["bytes"] < 0.85'
expect 'pins are stored' '{"pin-inodes", "pin-pages"} <= {s["name"] for s in run["node"]}'
run --pin-inodes=true,false --cache cold
expect_status 0
expect 'a switch is swept' 'sorted(r["cell"]["pin-inodes"] for r in runs) == [False, True]'
nothing_refused 'pins'
unchanged 'pins'

# --- binding and priority ---------------------------------------------------------------------------
run --bind reader=cpu:0/consumer=cpu:1 --ioprio be:2 --compute 1ms --batch 50
if [ "$(nproc)" -gt 1 ]; then
  expect_status 0
  expect 'binding and priority read back' '
    any(s["name"] == "ioprio" and s["got"] == "be:2" for s in run["node"]) and
    any(s["name"] == "bind" and "reader=0" in s["got"] and "consumer=1" in s["got"] for s in run["node"])'
  run --bind consumer=cpu:1
  expect_status 0
  expect 'a role without a place is not put on that of another' '
    any(s["name"] == "bind" and "reader=0-" in s["got"] and "consumer=1/" in s["got"] for s in run["node"])'
fi
nothing_refused 'binding'
unchanged 'binding'
echo 'run on a borrowed node: fine'
