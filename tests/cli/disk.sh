#!/usr/bin/env bash
# An emulated disk from start to stop: what is written reads back identical after a restart on the
# same backing file, timing changes while it runs, and nothing is left behind.
# Side by side: on disks of its own; what they hold is looked at, not how fast they are.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/disk_helpers.bash
. "$(dirname "$0")/disk_helpers.bash"

need_disks

# --- no root is 77, with the reason; a wrong command line is 2 ---------------------------------
call as_nobody disk start "$disk" --model none --size 64MiB
expect_error 77 root
call disk start '../evil' --model none --size 64MiB
expect_error 2 "'../evil'"
call disk start "$disk" --model none --size 12parsecs
expect_error 2 --size 12parsecs
call disk start "$disk" --model none --size 1000B
expect_error 2 --size
call disk start "$disk" --model none
expect_error 2 --size
call disk start "$disk" --model no-such-model --size 64MiB
expect_error 2 no-such-model hdd-7200
call disk start "$disk" --model none --size 64MiB --speedup fast
expect_error 2 --speedup "'fast'"
call disk start "$disk" --model none --size 64MiB --fs ext4
expect_error 2 --mount
call disk start "$disk" --model none --size 64MiB --fs ntfs --mount "$tmp"
expect_error 2 ntfs
call disk start "$disk" --model none --size 64MiB --fs ext4 --mount "$tmp/missing"
expect_error 1 "$tmp/missing"
call disk stop no-such-disk
expect_error 1 no-such-disk
call disk stats no-such-disk
expect_error 1 no-such-disk
call disk set no-such-disk --speedup 2
expect_error 1 no-such-disk
call disk set "$disk"
expect_error 2 --model
nothing_left
echo 'bad input: refused'

# --- round trip: 1 GiB through ext4, less through the others ------------------------------------
mkdir "$tmp/mnt"
# write_and_sum MIB: files of 64 MiB, synced; prints their checksums
write_and_sum() {
  local i
  for ((i = 0; i < $1 / 64; i++)); do
    head -c 64M /dev/urandom >"$tmp/mnt/part.$i"
    sync "$tmp/mnt/part.$i"
  done
  sums
}
sums() { # by OpenSSL: sha256sum takes six times as long
  "$python" -c 'import hashlib, pathlib, sys
for path in sorted(pathlib.Path(sys.argv[1]).glob("part.*")):
    with path.open("rb") as file:
        print(hashlib.file_digest(file, "sha256").hexdigest(), path.name)' "$tmp/mnt"
}

round_trip() { # FS IMAGE_SIZE MIB
  local before
  call disk start "$disk" --model none --size "$2" --backing "$tmp/$1.img" --fs "$1" \
    --mount "$tmp/mnt" --json
  expect_status 0
  before=$(write_and_sum "$3")
  [ "$(wc -l <<<"$before")" = "$(($3 / 64))" ] || die "$1: not all parts were written"
  call disk stop "$disk"
  expect_status 0
  [ ! -e "$tmp/mnt/part.0" ] || die "$1: still mounted after stop"
  [ "$(stat -c %a "$tmp/$1.img")" = 600 ] || die 'a backing file is for its owner alone'
  call disk start "$disk" --model none --backing "$tmp/$1.img" --fs "$1" --mount "$tmp/mnt"
  expect_status 0
  ! grep 'timer slack' "/run/blksweep/disks/$disk/log" >&2 || die 'the daemon complains of what nobody is denied'
  [ "$(sums)" = "$before" ] || die "$1: other bytes after stop and start"
  findmnt --noheadings --output OPTIONS "$tmp/mnt" | grep 'nosuid,nodev' >/dev/null || die 'set-user-ID programs count'
  call disk stop "$disk"
  expect_status 0
}
round_trip ext4 1536MiB 1024
# The filesystem of another kind on the same file is not overwritten.
call disk start "$disk" --model none --backing "$tmp/ext4.img" --fs xfs --mount "$tmp/mnt"
expect_error 1 ext4 xfs 'not overwritten'
rm "$tmp/ext4.img"
for other in xfs btrfs; do
  if command -v "mkfs.$other" >/dev/null && grep -qw "$other" /proc/filesystems; then
    round_trip "$other" 512MiB 128
    rm "$tmp/$other.img"
  fi
done
head -c 4M /dev/urandom >"$tmp/noise.img"
call disk start "$disk" --model none --backing "$tmp/noise.img" --fs ext4 --mount "$tmp/mnt"
expect_error 1 'not overwritten'
call disk start "$disk" --model none --backing "$tmp/noise.img" --size 8MiB
expect_error 1 --size
nothing_left
echo 'round trip: identical'

# --- a raw disk, its queue, timing that changes ----------------------------------------------
call disk start "$disk" --model hdd-7200 --size 256MiB --json
expect_status 0
device=$(field device)
[ "$(field name)" = "$disk" ] || die 'start --json names another disk'
loop=${device#/dev/}
[ "$(cat "/sys/block/$loop/queue/rotational")" = 1 ] || die 'hdd-7200 is not rotational'
[ "$(cat "/sys/block/$loop/loop/dio")" = 1 ] || die 'the loop device is not direct'
head -c 1M /dev/urandom >"$tmp/random"
dd if="$tmp/random" of="$device" bs=1M oflag=direct conv=fsync status=none
dd if="$device" bs=4k count=256 iflag=direct status=none | cmp - "$tmp/random" || die 'other bytes'
[ "$(dd if="$device" bs=1M skip=200 count=1 iflag=direct status=none | tr -d '\0' | wc -c)" = 0 ] ||
  die 'what was never written is not zero'
call disk set "$disk" --model none
expect_status 0
[ "$(cat "/sys/block/$loop/queue/rotational")" = 0 ] || die 'none is rotational'
call disk set "$disk" --model hdd-7200 --speedup 10
expect_status 0
call disk list --json
[[ $out == *'"speedup": 10'* ]] || die 'list does not show the new speed-up'
call disk stats "$disk" --json
expect_status 0
(($(field requests) > 256)) || die 'stats count too few requests'
# A 0 outlives whoever set it on this loop device; a hole in its file asks the same of the daemon.
if [ "$(cat "/sys/block/$loop/queue/discard_max_bytes")" = 0 ]; then
  fallocate --punch-hole --offset 0 --length 1MiB "$(cat "/sys/block/$loop/loop/backing_file")"
else
  blkdiscard "$device"
fi
[ "$(dd if="$device" bs=1M count=1 iflag=direct status=none | tr -d '\0' | wc -c)" = 0 ] ||
  die 'a discarded block is not zero'
call disk stop "$disk"
expect_status 0
nothing_left
echo 'raw disk: fine'
