#!/usr/bin/env bash
# Files that lie side by side are merged: by the block layer's plug when their reads are submitted
# together in LBA order (also files of odd sizes, whose reads must reach the end of their last block),
# and by blksweep itself with merge=device.
# Side by side: counts of requests of a disk of its own.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

own_disk 300M

count=2000
"$blksweep" --quiet dataset make "$loopfs_mount/data" --count $count --size lognormal:12KiB >/dev/null
make_catalog "$loopfs_mount/data" "$tmp/data.cat"

# requests OPTION... : what the device was asked for, from its own statistics.
requests() {
  call run --catalog "$tmp/data.cat" --depth 32 --no-ceiling --json "$@"
  expect_status 0 3
  /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["runs"][0]["device_reads"])' \
    <"$tmp/.out"
}

apart=$(requests --order random --merge none)
together=$(requests --order lba --merge kernel)
device=$(requests --order lba --merge device)
echo "requests for $count files: random $apart, lba + kernel $together, lba + device $device"
[ "$apart" -gt $((count * 9 / 10)) ] || die "random order: $apart requests for $count files"
[ "$together" -lt $((count / 4)) ] || die "lba + kernel: $together requests for $count files"
[ "$device" -lt $((count / 20)) ] || die "lba + device: $device requests for $count files"

# --- a batch of reads of two disks in turn: each joins the plug's request of its own disk ---------------------
command -v fio >/dev/null || exit 0
for i in 1 2; do
  truncate -s 16M "$tmp/two.$i"
done
one=$(losetup --direct-io=on --find --show "$tmp/two.1") || skip 'no loop device'
at_exit "losetup --detach $one"
two=$(losetup --direct-io=on --find --show "$tmp/two.2") || skip 'no loop device'
at_exit "losetup --detach $two"
"$blksweep" --quiet probe "$one" --live --json --interval 200ms >"$tmp/lines" 2>"$tmp/err" &
pid=$!
for ((i = 0; i < 200; i++)); do
  [ ! -s "$tmp/lines" ] || break
  kill -0 "$pid" 2>/dev/null || skip "$(cat "$tmp/err")"
  sleep 0.05
done
fio --name=turns --filename="$one:$two" --file_service_type=roundrobin:1 --ioengine=io_uring --iodepth=16 \
  --iodepth_batch=16 --iodepth_batch_complete_min=16 --rw=read --bs=4k --direct=1 --size=8M >"$tmp/fio" || die "fio: $(cat "$tmp/fio")"
kill -INT "$pid"
wait "$pid" || die "the view ended with $?"
/usr/bin/python3 - "$tmp/lines" <<'PY' || die 'merges of two disks'
import json, sys
s = json.loads(open(sys.argv[1]).readlines()[-1])["summary"]
print("two disks in turn:", {k: s[k] for k in ("requests", "plug_merges", "scheduler_merges")})
if s["plug_merges"] is not None:
    assert s["requests"] + s["plug_merges"] + s["scheduler_merges"] == 1024, s
    assert s["plug_merges"] > 512 and s["scheduler_merges"] < 50, s
PY
