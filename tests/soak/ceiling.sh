#!/usr/bin/env bash
# The ceiling against fio that reads the same extents in the same session: data in a sparse image, in
# an image whose every block was written, and in one that was filled, emptied in part and trimmed.
# fio gets what the ceiling has: registered buffers on huge pages, submission in groups.
# Medians of ROUNDS (9) rounds, ours and fio's in turns; each ratio is to be within 10 %.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/../cli/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

# About 1 GiB and more is read each time: fio's clock has some 27 ms that are not reading.
rounds=${ROUNDS:-9}
[ "$(id -u)" = 0 ] || skip 'needs root for loop devices'
command -v fio >/dev/null || skip 'fio is not installed'
at_exit loopfs_remove

# extents DIR: the data set's own, as "offset bytes" in reads of at most 1 MiB, by address.
extents() {
  find "$1" -type f -print0 | xargs -0 filefrag -b4096 -v | "$python" -c '
import re, sys
ranges = []
for line in sys.stdin:
    found = re.match(r" *\d+: *\d+\.\. *\d+: *(\d+)\.\. *(\d+):", line)
    if found and "unwritten" not in line and "inline" not in line:
        ranges.append((int(found[1]) * 4096, (int(found[2]) + 1) * 4096))
ranges.sort()
joined = []
for begin, end in ranges:
    if joined and begin <= joined[-1][1]:
        joined[-1][1] = max(joined[-1][1], end)
    else:
        joined.append([begin, end])
for begin, end in joined:
    for at in range(begin, end, 1 << 20):
        print(at, min(1 << 20, end - at))'
}

# As the twin (docs/fio-twin.md): from small pages a read of 1 MiB is two requests of many segments, and
# fio takes 1.0 to 2.1 times as long, another time each time.
huge_pages=glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1:glibc.malloc.mmap_max=0:glibc.malloc.top_pad=4194304

# fio_rate PATTERN: bytes per second of fio over the extents in $tmp/extents.
fio_rate() {
  local log=$tmp/iolog depth=32
  {
    printf 'fio version 3 iolog\n0 %s add\n0 %s open\n' "$loopfs_device" "$loopfs_device"
    if [ "$1" = sequential ]; then
      sed "s|^|0 $loopfs_device read |" "$tmp/extents"
    else
      "$python" -c '
import random, sys
blocks = [b for line in open(sys.argv[1]) for at, n in [map(int, line.split())] for b in range(at, at + n, 4096)]
random.shuffle(blocks)
for b in blocks[:int(sys.argv[3])]:
    print("0", sys.argv[2], "read", b, 4096)' "$tmp/extents" "$loopfs_device" "$random_reads"
    fi
  } >"$log"
  [ "$1" = sequential ] || depth=128
  GLIBC_TUNABLES=$huge_pages fio --name=same --thread=1 --readonly --read_iolog="$log" --replay_no_stall=1 --ioengine=io_uring --direct=1 \
    --iodepth=$depth --fixedbufs=1 --iomem_align=2m --iodepth_batch_submit=$depth \
    --iodepth_batch_complete_min=1 --iodepth_batch_complete_max=$((depth / 4)) --number_ios="$(($(wc -l <"$log") - 3))" --invalidate=0 --disk_util=0 \
    --output-format=json 2>/dev/null | "$python" -c '
import json, sys
read = json.load(sys.stdin)["jobs"][0]["read"]
# The runtime is rounded up to whole milliseconds.
print(int(read["io_bytes"] * 1000 / max(0.5, read["runtime"] - 0.5)))'
}

median() { sort -n | "$python" -c 'import statistics, sys; print(int(statistics.median(map(int, sys.stdin))))'; }

# rounds_of NAME DIR: ceilings and fio in turns; who is first changes.
rounds_of() {
  local name=$1 round kind ours theirs worst=0
  rm -f "$tmp/r.db" "$tmp"/fio.*
  make_catalog "$2" "$tmp/data.cat"
  extents "$2" >"$tmp/extents"
  random_reads=30000
  for ((round = 0; round < rounds; round++)); do
    if ((round % 2)); then
      fio_round
      our_round "$round"
    else
      our_round "$round"
      fio_round
    fi
  done
  for kind in sequential random; do
    ours=$(sqlite3 "$tmp/r.db" "SELECT CAST(bytes_per_s AS INTEGER) FROM ceiling WHERE kind = '$kind' AND depth <> 4" | median)
    theirs=$(median <"$tmp/fio.$kind")
    "$python" -c '
import sys
name, kind, ours, fio, rounds = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
print(f"{name}, {kind}: ceiling {ours / 2**20:.0f} MiB/s, fio {fio / 2**20:.0f} MiB/s, "
      f"ratio {ours / fio:.3f} (medians of {rounds} rounds)")
sys.exit(0 if 0.9 <= ours / fio <= 1.1 else 1)' "$name" "$kind" "$ours" "$theirs" "$rounds" || worst=1
  done
  return $worst
}
fio_round() {
  fio_rate sequential >>"$tmp/fio.sequential"
  fio_rate random >>"$tmp/fio.random"
}
our_round() {
  call run --catalog "$tmp/data.cat" --order lba --merge device --cache keep --no-probe --seed "$((1 + $1))" \
    --db "$tmp/r.db" --json
  expect_status 0
}

failed=0
loopfs_make "$tmp/image" "$tmp/mnt" 3G ext4 || skip "$loopfs_reason"
[ "$(cat "/sys/block/${loopfs_device#/dev/}/loop/dio")" = 1 ] || skip "no direct I/O on files of $tmp"
call dataset make "$tmp/mnt/data" --count 350 --size 3MiB
expect_status 0
sync
rounds_of 'sparse image' "$tmp/mnt/data" || failed=1
loopfs_remove

# Every block written before the filesystem came.
at_exit "rm -f '$tmp/image'"
head -c 2600M /dev/urandom >"$tmp/image"
mkfs.ext4 -q -F -E nodiscard "$tmp/image"
loopfs_image=$tmp/image
loopfs_attach "$tmp/image" || skip "$loopfs_reason"
mkdir -p "$tmp/mnt"
mount -o nodiscard "$loopfs_device" "$tmp/mnt"
loopfs_mount=$tmp/mnt
call dataset make "$tmp/mnt/data" --count 700 --size 3MiB
expect_status 0
sync
rounds_of 'filled image' "$tmp/mnt/data" || failed=1

# Every other file goes, and its blocks are trimmed: holes between the data.
find "$tmp/mnt/data" -type f | sort | awk 'NR % 2' | xargs rm
sync
fstrim "$tmp/mnt"
rounds_of 'partly trimmed' "$tmp/mnt/data" || failed=1
exit $failed
