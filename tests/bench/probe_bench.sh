#!/bin/bash
# What the probe costs: IOPS of 4 KiB random reads at depth 128 with the probe on against off,
# interleaved, medians. A measurement, never an assertion.
#
#   tests/bench/probe_bench.sh [REPEATS] [SECONDS]      needs root, fio and a loop or null_blk device
set -euo pipefail

repeats=${1:-7}
seconds=${2:-2}
blksweep=${BLKSWEEP:-build/blksweep}
image=
device=
probe=

cleanup() {
  if [ -n "$probe" ]; then
    kill "$probe" 2>/dev/null || true
  fi
  if [ -n "$image" ]; then
    losetup -d "$device" 2>/dev/null || true
    rm -f "$image"
  fi
}
trap cleanup EXIT

skip() {
  echo "SKIP: $1"
  exit 77
}
[ "$(id -u)" = 0 ] || skip "needs root to set up a device and to attach BPF programs"
command -v fio >/dev/null || skip "needs fio"
[ -x "$blksweep" ] || skip "needs $blksweep: run make"

# null_blk completes at once and shows the probe's cost at its largest; a loop device is next best.
if modprobe null_blk nr_devices=1 2>/dev/null && [ -b /dev/nullb0 ]; then
  device=/dev/nullb0
else
  image=$(mktemp /tmp/blksweep-probe-bench-XXXXXX)
  dd if=/dev/urandom of="$image" bs=1M count=512 status=none
  device=$(losetup -f --show --direct-io=on "$image")
fi
rc=0
"$blksweep" probe "$device" --seconds 1 --json >/dev/null || rc=$?
[ "$rc" = 0 ] || skip "the probe does not work here (exit $rc)"

# Prints IOPS and CPU microseconds per read (user and system, of the whole machine).
measure() {
  local before after iops
  before=$(awk '/^cpu / {print $2 + $3 + $4 + $7 + $8}' /proc/stat)
  iops=$(fio --name=read --filename="$device" --direct=1 --rw=randread --bs=4k --iodepth=128 \
    --iodepth_batch_submit=16 --iodepth_batch_complete_min=16 --ioengine=io_uring --norandommap \
    --time_based --runtime="$seconds" --readonly --output-format=json |
    sed -n 's/^ *"iops" : \([0-9.]*\).*/\1/p' | head -n 1)
  after=$(awk '/^cpu / {print $2 + $3 + $4 + $7 + $8}' /proc/stat)
  awk -v iops="$iops" -v ticks=$((after - before)) -v hz="$(getconf CLK_TCK)" -v s="$seconds" \
    'BEGIN { printf "%.0f %.3f\n", iops, ticks / hz * 1e6 / (iops * s) }'
}

measure_probed() {
  "$blksweep" --quiet probe "$device" --interval 1min >/dev/null &
  probe=$!
  # Attached when its programs are there; loading takes about 0.1 s.
  sleep 0.5
  measure
  kill -INT "$probe"
  wait "$probe" || echo "note: the probe ended with $?" >&2
  probe=
}

median() {
  sort -n | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

off=()
on=()
measure >/dev/null
for ((i = 0; i < repeats; i++)); do
  # Which comes first alternates, so that drift does not look like an effect.
  if ((i % 2 == 0)); then
    off+=("$(measure)")
    on+=("$(measure_probed)")
  else
    on+=("$(measure_probed)")
    off+=("$(measure)")
  fi
  echo "pair $((i + 1)): off ${off[-1]}, on ${on[-1]} (IOPS, CPU us per read)"
done

column() { printf '%s\n' "${@:2}" | awk -v c="$1" '{ print $c }'; }
iops_off=$(column 1 "${off[@]}" | median)
iops_on=$(column 1 "${on[@]}" | median)
cpu_off=$(column 2 "${off[@]}" | median)
cpu_on=$(column 2 "${on[@]}" | median)
awk -v dev="$device" -v a="$iops_off" -v b="$iops_on" -v c="$cpu_off" -v d="$cpu_on" -v n="$repeats" 'BEGIN {
  printf "probe on %s, 4 KiB random reads, depth 128, medians of %d: off %.0f IOPS, on %.0f (%.3f); ", dev, n, a, b, b / a
  printf "CPU per read %.2f us off, %.2f us on\n", c, d }'
