#!/bin/bash
# What the probe costs: IOPS of 4 KiB random reads at depth 128 with the probe on against off,
# interleaved, medians. A measurement, never an assertion.
#
#   tests/bench/probe_bench.sh [REPEATS] [SECONDS]      needs root, fio and a loop or null_blk device
set -euo pipefail

repeats=${1:-15}
seconds=${2:-1}
blksweep=${BLKSWEEP:-build/blksweep}
image=
device=
probe=
probed=
stats_before=

cleanup() {
  if [ -n "$stats_before" ]; then
    sysctl -qw kernel.bpf_stats_enabled="$stats_before"
  fi
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

# null_blk completes at once and shows the probe's cost at its largest; next best is a loop device on a hole.
if modprobe null_blk nr_devices=1 2>/dev/null && [ -b /dev/nullb0 ]; then
  device=/dev/nullb0
else
  image=$(mktemp /tmp/blksweep-probe-bench-XXXXXX)
  truncate -s 2G "$image"
  device=$(losetup -f --show --direct-io=on "$image")
fi
rc=0
"$blksweep" probe "$device" --seconds 1 --json >/dev/null || rc=$?
[ "$rc" = 0 ] || skip "the probe does not work here (exit $rc)"

# Prints IOPS.
measure() {
  "$blksweep" --quiet node exec --device "$device" --scheduler none -- \
    fio --name=read --filename="$device" --direct=1 --rw=randread --bs=4k --iodepth=128 \
    --iodepth_batch_submit=16 --iodepth_batch_complete_min=16 --ioengine=io_uring --norandommap \
    --time_based --runtime="$seconds" --readonly --output-format=json |
    sed -n 's/^ *"iops" : \([0-9]*\).*/\1/p' | sed -n 1p
}

start_probe() {
  "$blksweep" --quiet probe "$device" --interval 1min >/dev/null &
  probe=$!
  # Attached when its programs are there; loading takes about 0.1 s.
  sleep 0.5
}

stop_probe() {
  kill -INT "$probe"
  wait "$probe" || echo "note: the probe ended with $?" >&2
  probe=
}

# Leaves its answer in $probed, because a subshell could not stop the probe for its parent's trap.
measure_probed() {
  start_probe
  probed=$(measure)
  stop_probe
}

# What the kernel itself says of each program, in a run of its own: its clock costs time too.
program_costs() {
  local ticks=kernel.bpf_stats_enabled
  stats_before=$(sysctl -n $ticks)
  sysctl -qw $ticks=1
  start_probe
  measure >/dev/null
  bpftool prog show | grep -E 'name on_(issue|complete|insert|requeue)' |
    sed -E 's/.*name (on_[a-z]+).*run_time_ns ([0-9]+) run_cnt ([0-9]+).*/\1 \2 \3/' |
    awk 'NF == 3 && $3 > 0 { printf "  %-12s %4.0f ns x %d\n", $1, $2 / $3, $3 }'
  stop_probe
  sysctl -qw $ticks="$stats_before"
  stats_before=
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
    measure_probed
    on+=("$probed")
  else
    measure_probed
    on+=("$probed")
    off+=("$(measure)")
  fi
  echo "pair $((i + 1)): off ${off[-1]} IOPS, on ${on[-1]} IOPS"
done

iops_off=$(printf '%s\n' "${off[@]}" | median)
iops_on=$(printf '%s\n' "${on[@]}" | median)
ratio=$(for ((i = 0; i < repeats; i++)); do
  awk -v a="${off[i]}" -v b="${on[i]}" 'BEGIN { print b / a }'
done | median)
awk -v dev="$device" -v a="$iops_off" -v b="$iops_on" -v r="$ratio" -v n="$repeats" 'BEGIN {
  printf "probe on %s, 4 KiB random reads, depth 128, medians of %d pairs: ", dev, n
  printf "off %.0f IOPS, on %.0f, on / off %.3f\n", a, b, r }'
echo "per event, as the kernel counts it:"
program_costs
