#!/bin/sh -eu
# What must hold on a node with cgroup v2 only; run by init.sh. Prints what it saw.
die() {
  echo "FAILED: $*"
  exit 1
}

mkfs.ext4 -q /dev/vda # a loop device on tmpfs has no direct I/O
mount /dev/vda /tmp
losetup -f >/dev/null
truncate -s 300M /tmp/image
mkfs.ext4 -q /tmp/image
device=$(losetup --find --show /tmp/image)
disk=${device#/dev/}
mkdir -p /mnt/disk
mount "$device" /mnt/disk
blksweep --quiet dataset make /mnt/disk/data --count 120 --size 1MiB
blksweep --quiet catalog /mnt/disk/data -o /tmp/data.cat >/dev/null

state() {
  cat "/sys/block/$disk/queue/scheduler" "/sys/block/$disk/queue/nr_requests" \
    "/sys/block/$disk/queue/read_ahead_kb"
  cat /sys/fs/cgroup/cgroup.subtree_control /sys/fs/cgroup/user.slice/cgroup.subtree_control
  find /sys/fs/cgroup -name 'blksweep*'
  cat /proc/self/cgroup
  find /run/blksweep/journal -type f 2>/dev/null || true
}
state >/tmp/before
as_before() {
  state >/tmp/after
  cmp -s /tmp/before /tmp/after || die "$1: the node is not as before: $(diff /tmp/before /tmp/after)"
}
number() { grep -o "\"$1\": [0-9]*" /tmp/answer | sed -n 1p | grep -o '[0-9]*$'; }
run() {
  for _ in 1 2 3; do # a loaded host may stop the guest meanwhile, which makes a run incomplete
    status=0
    blksweep run --catalog /tmp/data.cat --no-ceiling --no-probe --json "$@" >/tmp/answer 2>/tmp/said || status=$?
    grep -q 'stood still' /tmp/said || break
  done
  [ "$status" = 0 ] || die "$*: status $status: $(cat /tmp/said)"
}

# A memory limit bounds the page cache of the run.
run --buffered --cache cold --memory-limit 64MiB --scheduler bfq --read-ahead 256KiB
peak=$(number cache_peak_bytes)
echo "memory limit 64 MiB: page cache at most $peak bytes"
[ "$peak" -gt 0 ] || die 'nothing was charged to the group'
[ "$peak" -le $((64 * 1024 * 1024 * 105 / 100)) ] || die 'page cache above the limit'
as_before 'memory limit'

# 120 MiB at 20 MB/s take 6 s at least; the I/O controller was off on the way down.
run --direct --bandwidth-limit 20MB/s
took=$(number epoch_ns)
echo "bandwidth limit 20 MB/s: 120 MiB in $took ns"
[ "$took" -ge 5900000000 ] || die 'faster than its limit'
as_before 'bandwidth limit'

# Killed while everything is borrowed, then restored.
blksweep --quiet run --catalog /tmp/data.cat --direct --bandwidth-limit 2MB/s --memory-limit 64MiB \
  --scheduler kyber --nr-requests 32 --pin-inodes --pin-pages 25% --no-ceiling --no-probe \
  --json >/dev/null 2>&1 &
victim=$!
tries=0
until grep -q '\[kyber\]' "/sys/block/$disk/queue/scheduler" && find /sys/fs/cgroup -name 'blksweep*' | grep . >/dev/null; do
  tries=$((tries + 1))
  [ "$tries" -lt 200 ] || die 'nothing was borrowed'
  usleep 100000
done
kill -9 "$victim"
wait "$victim" || true
blksweep node restore
as_before 'killed and restored'

# Doctor finds what a run finds; probes are loaded on this kernel.
blksweep doctor /mnt/disk/data >/tmp/doctor
grep -E 'cgroup|probe|io_uring|BTF|residency' /tmp/doctor
grep -q '^ok  *cgroup memory' /tmp/doctor || die 'doctor: cgroup memory'
grep -q '^ok  *cgroup I/O' /tmp/doctor || die 'doctor: cgroup I/O'
blksweep --quiet run --catalog /tmp/data.cat --no-ceiling --cache cold --json >/tmp/answer
echo "with the probe: $(number requests_issued) requests"

root_tests --gtest_brief=1 --gtest_filter='Limits*:Queue*:Vm*:*UndoCgroup*:PinOnExt4*:Probe*'
