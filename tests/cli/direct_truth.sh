#!/usr/bin/env bash
# Direct reads that the filesystem answers through the page cache are told: compressed btrfs.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

own_disk 300M btrfs
call dataset make "$loopfs_mount/plain" --count 64 --size 256KiB
expect_status 0
mount -o remount,compress-force=zstd "$loopfs_mount"
mkdir "$loopfs_mount/packed"
for i in $(seq 64); do
  base64 -w 0 /dev/urandom 2>/dev/null | head -c 256K >"$loopfs_mount/packed/$i" || true
done
sync -f "$loopfs_mount"
quiet=(--no-probe --no-ceiling --json --direct)

call run --data "$loopfs_mount/packed" "${quiet[@]}" --cache cold
expect_status 0
expect 'one epoch is cold, and not direct' "
  any('direct reads went through the page cache' in w and 'compressed' in w for w in run['warnings'])"
call run --data "$loopfs_mount/packed" "${quiet[@]}" --cache cold --epochs 2
expect_status 3
expect 'the second epoch came from the page cache' "
  run['own_read_bytes'] < run['bytes'] / 2 and 'not cold after the first epoch' in run['incomplete_reason']"
# Metadata that left memory meanwhile is read again; the pages are what answers.
cat "$loopfs_mount"/packed/* >/dev/null
call run --data "$loopfs_mount/packed" "${quiet[@]}" --cache keep
expect_status 0
expect 'nor do they need the device when the pages are there' "
  any('direct reads went through the page cache' in w for w in run['warnings'])"
echo 'compressed: said'

call run --data "$loopfs_mount/plain" "${quiet[@]}" --cache cold --epochs 2
expect_status 0
expect 'plain extents are read directly, twice' "
  run['own_read_bytes'] >= run['device_bytes_expected'] == 2 * 64 << 18 and
  not any('page cache' in w for w in run['warnings'])"
echo 'plain: nothing to say'
