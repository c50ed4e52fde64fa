#!/usr/bin/env bash
# A minute of RATE (150,000) reads a second, which the probe has to count without losing one: a sparse image answers
# without a disk. Its requests are those of /sys/block/*/stat, and no event is lost.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/../cli/helpers.bash"

rate=${RATE:-150000}
[ "$(id -u)" = 0 ] || skip 'needs root for loop devices'
command -v fio >/dev/null || skip 'fio is not installed'

truncate -s 2G "$tmp/sparse"
device=$(losetup --find --show --direct-io=on "$tmp/sparse")
detach() { losetup --detach "$device"; }
at_exit detach
completed() { awk '{ print $1 }' "/sys/block/${device#/dev/}/stat"; }

before=$(completed)
"$blksweep" --quiet probe "$device" --seconds 63 --interval 10s --json >"$tmp/probe.json" &
probe=$!
sleep 1
fio --name=read --filename="$device" --direct=1 --rw=randread --bs=4k --ioengine=io_uring --iodepth=64 \
  --iodepth_batch_submit=16 --iodepth_batch_complete_min=16 --norandommap --time_based --runtime=60 \
  --rate_iops="$rate" --readonly --output-format=json >"$tmp/fio.json"
wait "$probe"
"$python" - "$tmp/probe.json" "$tmp/fio.json" $(($(completed) - before)) "$rate" <<'PY'
import json, sys
summary = json.load(open(sys.argv[1]))["summary"]
read, stat, rate = json.load(open(sys.argv[2]))["jobs"][0]["read"], int(sys.argv[3]), int(sys.argv[4])
print(f"{read['iops']:.0f} reads/s: requests {summary['requests']}, stat {stat}; bytes {summary['bytes']}, "
      f"fio {read['total_ios'] * 4096}; lost {summary['lost_events']}, healed {summary['healed']}")
assert read["iops"] >= 0.98 * rate, "this machine is too slow for it now"
assert summary["lost_events"] == 0 and summary["requests"] == stat, "a request was missed"
assert summary["bytes"] == read["total_ios"] * 4096, "merged ones have the bytes of all"
PY
