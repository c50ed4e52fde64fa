#!/usr/bin/env bash
# The bpftrace scripts of ebpf/, all at once over one known pattern: each counts what the pattern did, what
# the compiled probe and the kernel's own counters say.
# Alone: programs on hot paths make the probes of other tests lose events.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

for program in bpftrace fio unshare fincore; do
  command -v "$program" >/dev/null || skip "needs $program"
done
[ "$(id -u)" = 0 ] || skip 'needs root for BPF and a loop device'
ebpf=$(realpath "$(dirname "$0")/../../ebpf")
scripts='depth merges order distance readahead evictions inodes reader'

# --- data that is cold, of a disk of its own -----------------------------------------------------
own_disk 256M
mkdir "$loopfs_mount/many"
for i in {1..200}; do echo "$i" >"$loopfs_mount/many/$i"; done
head -c 64M /dev/zero >"$loopfs_mount/sparsely"
head -c 16M /dev/zero >"$loopfs_mount/evicted"
umount "$loopfs_mount"
mount -o no_prefetch_block_bitmaps "$loopfs_device" "$loopfs_mount"
disk=${loopfs_device#/dev/}
echo mq-deadline >"/sys/block/$disk/queue/scheduler" || skip 'no mq-deadline'
cp "$(command -v fio)" "$tmp/ringreader"

# --- everything watches --------------------------------------------------------------------------
# bpftrace starts its command when its programs are attached, and ends with it.
cat >"$tmp/until_over" <<'SH'
touch "$1/$2.ready"
until [ -e "$1/over" ] || [ -e "$1/$2.over" ]; do sleep 0.1; done
SH
cat >"$tmp/watch" <<'SH'
mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing
exec bpftrace -c "/bin/sh $1/until_over $1 $2" "$3"
SH
watchers=()
for name in $scripts; do
  unshare --mount sh "$tmp/watch" "$tmp" "$name" "$ebpf/$name.bt" >"$tmp/$name.out" 2>&1 &
  if [ "$name" = inodes ]; then inodes=$!; else watchers+=($!); fi
done
at_exit "touch $tmp/over"
for ((tries = 0; tries < 600; tries++)); do
  ready=("$tmp"/*.ready)
  if [ "${#ready[@]}" = 8 ]; then break; fi
  for pid in "${watchers[@]}"; do
    kill -0 "$pid" 2>/dev/null || die "$(tail -n 3 "$tmp"/*.out)"
  done
  sleep 0.1
done
[ "$tries" -lt 600 ] || die "not attached: $(tail -n 3 "$tmp"/*.out)"
"$blksweep" --quiet probe "$loopfs_device" --live --json --interval 100ms >"$tmp/probe" &
probe=$!
until [ -s "$tmp/probe" ]; do
  kill -0 "$probe" 2>/dev/null || die 'the probe does not start'
  sleep 0.05
done

# --- the pattern ---------------------------------------------------------------------------------
cat >"$tmp/pattern.py" <<'PY'
import os, sys
root = sys.argv[1]
def called(name):
    open("/proc/self/comm", "w").write(name)
if sys.argv[2] == "inodes":
    called("coldinodes")
    for i in range(1, 201):
        os.stat(f"{root}/many/{i}")
    sys.exit()
called("sparsereads")
fd = os.open(f"{root}/sparsely", os.O_RDONLY)
for i in range(64):
    os.pread(fd, 4096, i << 20)
fd = os.open(f"{root}/evicted", os.O_RDONLY)
while os.read(fd, 4096):
    pass
PY
resident() { fincore --bytes --noheadings --output PAGES "$1" | tr -d ' '; }
"$python" "$tmp/pattern.py" "$loopfs_mount" inodes
# It runs at each allocation of the kernel, and while one program runs on a CPU the kernel skips others there.
touch "$tmp/inodes.over"
wait "${inodes:?}" || die "inodes.bt ended with $?"
before=$(("$(resident "$loopfs_mount/sparsely")" + "$(resident "$loopfs_mount/evicted")"))
"$python" "$tmp/pattern.py" "$loopfs_mount" reads
evicted=$(resident "$loopfs_mount/evicted")
added=$(("$(resident "$loopfs_mount/sparsely")" + evicted - before))
"$python" - "$loopfs_mount/evicted" <<'PY'
import os, sys
open("/proc/self/comm", "w").write("evictor")
os.posix_fadvise(os.open(sys.argv[1], os.O_RDONLY), 0, 0, os.POSIX_FADV_DONTNEED)
PY
left=$(resident "$loopfs_mount/evicted")
"$tmp/ringreader" --name=x --filename="$loopfs_mount/sparsely" --rw=randread --bs=4k --direct=1 --ioengine=io_uring \
  --iodepth=32 --iodepth_batch_submit=32 --iodepth_batch_complete_min=32 --io_size=8M --size=64M --output=/dev/null
sleep 0.3
kill -INT "$probe"
wait "$probe" || die "the probe ended with $?"
touch "$tmp/over"
for pid in "${watchers[@]}"; do
  wait "$pid" || die "a script ended with $?: $(tail -n 3 "$tmp"/*.out)"
done

# --- what they say -------------------------------------------------------------------------------
inode=$(stat -c %i "$loopfs_mount/evicted")
"$python" - "$tmp" "$disk" "$inode" "$added" "$((evicted - left))" <<'PY'
import json, pathlib, re, sys
tmp, disk, inode = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
added, evicted = int(sys.argv[4]), int(sys.argv[5])
dev = pathlib.Path(f"/sys/block/{disk}/dev").read_text().strip().replace(":", ", ")
probe = [json.loads(line) for line in open(tmp / "probe")][-1]["summary"]
said = {name: (tmp / f"{name}.out").read_text() for name in
        "depth merges order distance readahead evictions inodes reader".split()}
def count(script, name, keys):
    return sum(map(int, re.findall(rf"^@{name}\[{re.escape(keys)}\]: (\d+)$", said[script], re.M)))
failed = []
def same(what, a, b, allow=0):
    print(f"  {what}: {a} and {b}")
    if abs(a - b) > allow:
        failed.append(f"{what}: {a} is not {b}")
reads = probe["requests"]
# A tracepoint that fires in an interrupt while another program runs on its CPU is skipped (bpf_prog_active).
skipped = reads // 100
kept, turned, unmatched = (count("order", n, dev) for n in ("kept", "turned", "unmatched"))
same("order: neighbours and the first, requests of the probe", kept + turned + unmatched + 1, reads, skipped)
if turned < 100 or kept < 100:
    failed.append(f"mq-deadline under random reads: {kept} kept, {turned} turned")
distances = re.findall(rf"^@us\[{dev}, (\d+)\]: count (\d+), average (\d+), total (\d+)$", said["distance"], re.M)
same("distance: requests", count("distance", "reads", dev), reads, skipped)
timed = sum(int(d[1]) for d in distances)
same("distance: those whose end was told", timed, reads, reads // 5)
near = sum(int(d[1]) for d in distances if d[0] == "0")
same("distance: those that do not seek", near, reads - probe["seeks"], reads - timed)
same("distance: mean latency in us", round(sum(int(d[3]) for d in distances) / max(timed, 1)),
     round(probe["latency_mean_ns"] / 1000), probe["latency_mean_ns"] / 2000)
same("merges: issued reads and others", count("merges", "issued", dev), reads + probe["other_requests"], skipped)
same("merges: in the plug or the scheduler",
     sum(count("merges", n, dev) for n in ("back_merges", "front_merges", "request_merges")),
     probe["plug_merges"] + probe["scheduler_merges"], 2)
block = re.search(rf"^@depth\[{dev}\]: ?\n((?:[\[(].*\n)+)", said["depth"], re.M)
same("depth: issued", sum(map(int, re.findall(r"[\])] +(\d+) \|", block.group(1)))), reads + probe["other_requests"],
     skipped)
same("readahead: pages asked for", count("readahead", "asked", dev), 64 + 4096, skipped)
same("readahead: pages added, pages that became resident", count("readahead", "added", dev), added, added // 100)
same("evictions: pages of the file", count("evictions", "evicted", f"{dev}, {inode}, evictor"), evicted, evicted // 100)
same("inodes: cold ones and their folder", count("inodes", "inodes", "coldinodes"), 201, 2)
if not 0 < count("inodes", "tables", dev) < 20:
    failed.append(f"tables: {count('inodes', 'tables', dev)}")
same("reader: submitted", count("reader", "submitted", "ringreader"), 2048, skipped)
same("reader: completed", count("reader", "completed", "ringreader"), 2048, skipped)
same("reader: bytes", count("reader", "bytes", "ringreader"), 8 << 20, skipped << 12)
if failed:
    sys.exit("FAILED: " + "; ".join(failed))
PY
echo "bpftrace: eight scripts agree with the pattern, the probe and the kernel"
