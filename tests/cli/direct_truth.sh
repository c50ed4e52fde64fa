#!/usr/bin/env bash
# Direct reads that the filesystem answers through the page cache are told: compressed btrfs, journaled data.
# The granule of direct reads is that of the disk in a run, its plan and its prediction.
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
loopfs_remove

# --- sectors of 4 KiB, and data that is journaled ---------------------------------------------------
own_disk 64M ext4 -b 4096
umount "$loopfs_mount"
losetup --sector-size 4096 "$loopfs_device" || skip 'no loop device with sectors of 4 KiB'
mount "$loopfs_device" "$loopfs_mount"
call dataset make "$loopfs_mount/tar" --count 300 --size lognormal:3KiB --format tar
expect_status 0
make_catalog "$loopfs_mount/tar" "$tmp/tar.cat"
cell=(--order lba --merge none --json)
# bytes LIST: that were read, or are to be, in the first of the list
bytes() { "$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]][0]["read_bytes"])' "$tmp/.out" "$1"; }
call run --catalog "$tmp/tar.cat" --no-probe --no-ceiling "${cell[@]}"
expect_status 0
ran=$(bytes runs)
call plan "$tmp/tar.cat" "${cell[@]}"
[ "$(bytes plans)" = "$ran" ] || die "planned $(bytes plans), read $ran"
call simulate "$tmp/tar.cat" --model hdd-7200 "${cell[@]}"
[ "$(bytes predictions)" = "$ran" ] || die "predicted $(bytes predictions), read $ran"
echo 'sectors of 4 KiB: one granule'

umount "$loopfs_mount"
mount -o data=journal "$loopfs_device" "$loopfs_mount"
"$blksweep" plan "$tmp/tar.cat" "${cell[@]}" >"$tmp/.out" 2>"$tmp/.err"
grep -q 'O_DIRECT is refused' "$tmp/.err" || die "plan: $(cat "$tmp/.err")"
call simulate "$tmp/tar.cat" --model hdd-7200 "${cell[@]}"
expect_error 2 "$loopfs_mount/tar" 'O_DIRECT is refused' 'not predicted'
echo 'no direct reads: said before'
