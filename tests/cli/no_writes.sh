#!/usr/bin/env bash
# Nothing is ever written to a block device: every command that touches caches, the node or the data
# runs under strace, which shows what is opened and written by every process and thread of it, and on a
# filesystem that is mounted read-only, whose disk counts writes that go another way (io_uring).
# Side by side: on disks of its own; what is opened and written is looked at.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

[ "$(id -u)" = 0 ] || skip 'needs root for a loop device'
command -v strace >/dev/null || skip 'needs strace'
strace -o "$tmp/trace" true 2>/dev/null || skip 'may not trace processes here'
at_exit loopfs_remove
loopfs_make "$tmp/disk.img" "$tmp/disk" 128MiB ext4 || skip "$loopfs_reason"
disk=${loopfs_device#/dev/}
call dataset make "$tmp/disk/data" --count 200 --size 64KiB
expect_status 0
make_catalog "$tmp/disk/data" "$tmp/data.cat"
mount -o remount,ro "$tmp/disk"
sync
blockdev --flushbufs "$loopfs_device"
written() { awk '{ print $5, $7 }' "/sys/block/$disk/stat"; }
before=$(written)

# A file per thread (-ff): what one call says is in one line.
calls=open,openat,openat2,open_by_handle_at,creat,io_uring_enter,io_submit,ioctl,mmap
calls+=,write,pwrite64,writev,pwritev,pwritev2,sendfile,splice,copy_file_range,fallocate,ftruncate

# traced COMMAND... : into $tmp/all; -yy names the file of each descriptor, and that it is a block device.
options=(-ff -yy -s 16 -e trace="$calls" -e signal=none -o "$tmp/trace")
traced() {
  status=0
  rm -f "$tmp"/trace*
  strace "${options[@]}" "$@" >"$tmp/.out" 2>"$tmp/.err" </dev/null || status=$?
  out=$(cat "$tmp/.out")
  err=$(cat "$tmp/.err")
  cat "$tmp"/trace.* >"$tmp/all"
}

# The calls on stdin that could write to a block device.
offences() {
  /usr/bin/python3 -c '
import re, sys
BLOCK = r"<[^<>]*<block \d+:\d+>>"
WRITING = r"(write|pwrite64|writev|pwritev2?|fallocate|ftruncate|sendfile)\(\d+" + BLOCK
INTO = r"(splice|copy_file_range)\(\d+\S*, [^,]*, \d+" + BLOCK
OPEN = r"(open|openat|openat2|open_by_handle_at|creat)\(.*O_(WRONLY|RDWR).* = \d+" + BLOCK
MAPPED = r"mmap\([^)]*PROT_WRITE[^)]*MAP_SHARED[^)]*" + BLOCK
AIO = r"io_submit\(.*aio_lio_opcode=IOCB_CMD_PWRITEV?\b"
DISCARD = r"ioctl\(\d+" + BLOCK + r", (BLKDISCARD|BLKSECDISCARD|BLKZEROOUT|BLKROSET|BLKRASET|BLKPG)"
for line in sys.stdin:
    if any(re.search(p, line) for p in (WRITING, INTO, OPEN, MAPPED, AIO, DISCARD)):
        print(line, end="")
'
}

# The watch itself sees what it is to see.
traced dd if=/dev/zero of="$loopfs_device" bs=512 count=0 conv=notrunc
[ -n "$(offences <"$tmp/all")" ] || die 'an open for writing is not seen'
exec {reading}<"$loopfs_device"
traced dd if="$loopfs_device" of=/dev/null bs=4096 count=1
[ -z "$(offences <"$tmp/all")" ] || die 'reading passes for writing'
grep -q '<block ' "$tmp/all" || die 'block devices are not told from files'
exec {reading}<&-
echo 'write(3</dev/loop1<block 7:1>>, "x", 1) = 1' | offences | grep write >/dev/null || die 'a write is not seen'
echo "openat(AT_FDCWD, \"$loopfs_device\", O_RDWR) = 3<$loopfs_device<block 7:1>>" | offences | grep open >/dev/null ||
  die 'an open is not seen'

watched=0
# watch ARGUMENT... : one call of the program
watch() {
  traced "$blksweep" --quiet "$@"
  expect_status 0 3
  judge "$@"
}
judge() {
  local found
  found=$(offences <"$tmp/all")
  [ -z "$found" ] || die "$*: could write to a block device: $found"
  [ "$(written)" = "$before" ] || die "$*: the disk counts a write"
  watched=$((watched + 1))
}

scheduler=$(tr ' ' '\n' <"/sys/block/$disk/queue/scheduler" | grep -v '\[' | sed -n 1p)
node=(--scheduler "${scheduler:-none}" --nr-requests 48 --read-ahead 64KiB --bind all --ioprio be:6 --pin-inodes
  --pin-pages 25%)
memory=()
call node exec --memory-limit 64MiB -- true
[ "$status" != 0 ] || memory=(--memory-limit 64MiB)
call node exec --device "$disk" --bandwidth-limit 1GB/s -- true
[ "$status" != 0 ] || memory+=(--bandwidth-limit 1GB/s --iops-limit 100000)

for engine in $(engines direct); do
  watch run --catalog "$tmp/data.cat" --merge none,kernel,device --engine "$engine" --io direct,buffered --cache cold \
    "${node[@]}" "${memory[@]}"
done
for engine in $(engines buffered); do
  watch run --catalog "$tmp/data.cat" --engine "$engine" --cache cold "${node[@]}" "${memory[@]}"
done
watch run --catalog "$tmp/data.cat" --fio-twin --cache warm
watch doctor "$tmp/disk/data"
watch doctor "$loopfs_device"
watch cache warm "$tmp/disk/data"
watch cache warm --inodes "$tmp/disk/data"
watch cache stat "$tmp/disk/data"
watch cache drop "$tmp/disk/data"
watch cache drop --all
# A trace that writes to the disk is a text about it.
printf 'fio version 3 iolog\n0 %s write 0 512\n5 %s read 0 512\n' "$loopfs_device" "$loopfs_device" >"$tmp/iolog"
watch trace import "$tmp/iolog" -o "$tmp/disk.trace"
watch trace stat "$tmp/disk.trace"
watch trace export "$tmp/disk.trace" --format blktrace -o "$tmp/disk.blktrace.0"
watch replay "$tmp/disk.trace" --device "$loopfs_device" --timing asap --addresses wrap
(echo time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags,path
  cd "$tmp/disk/data" && find . -type f -printf '0,read,0,4096,,,,,,%P\n' | sort) >"$tmp/files.csv"
call trace import "$tmp/files.csv" -o "$tmp/files.trace"
expect_status 0
watch replay "$tmp/files.trace" --data "$tmp/disk/data" --timing asap
watch catalog "$tmp/disk/data" --trace "$tmp/files.trace" -o "$tmp/reads.cat"
watch trace record --device "$disk" --seconds 1 -o "$tmp/recorded.trace"
watch trace record --files --data "$tmp/disk/data" -o "$tmp/command.trace" -- cat "$tmp/data.cat"
# strace ends with the daemon that holds the pin.
pin=no-writes-$$
at_exit "$blksweep cache unpin $pin 2>/dev/null"
for kind in inodes pages; do
  rm -f "$tmp"/trace*
  strace "${options[@]}" "$blksweep" --quiet cache pin --name "$pin" "--$kind" "$tmp/disk/data" >/dev/null </dev/null &
  for ((tries = 0; tries < 300; ++tries)); do
    call cache list
    [[ $out != *"$pin"*alive* ]] || break
    sleep 0.1
  done
  call cache unpin "$pin"
  expect_status 0
  wait $!
  cat "$tmp"/trace.* >"$tmp/all"
  judge cache pin "--$kind"
done
at_exit "$blksweep node restore >/dev/null 2>&1"
watch node set --device "$disk" --scheduler "${scheduler:-none}" --nr-requests 32 --read-ahead 32KiB --nomerges 1 \
  --max-sectors 256KiB --rq-affinity 2 --rotational 0
watch node show "$disk"
watch node restore
watch node exec --device "$disk" "${node[@]:0:10}" "${memory[@]}" -- ls "$tmp/disk/data"
echo "no block device was opened for writing or written to: $watched commands"
