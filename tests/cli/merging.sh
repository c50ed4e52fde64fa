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
