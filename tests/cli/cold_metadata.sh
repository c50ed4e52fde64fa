#!/usr/bin/env bash
# Folders and inodes are as cold after one drop as on a disk that was mounted anew, also of files that were just made
# or read for the first time (which writes their times of access): what a journal remembers of them does not stay.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

bytes_read() {
  local sectors
  read -r _ _ sectors _ <"/sys/block/${loopfs_device#/dev/}/stat"
  echo $((sectors * 512))
}
# What the device reads for a walk over all names and sizes.
walk() {
  local before
  before=$(bytes_read)
  [ "$(find "$data" -type f -size +0 | wc -l)" = 3000 ] || die 'files are missing'
  echo $(($(bytes_read) - before))
}
drop() {
  call cache drop
  expect_status 0
}

for disk in 'ext4 -b 1024' 'ext4 -b 4096' xfs btrfs; do
  read -r fstype options <<<"$disk"
  # shellcheck disable=SC2086
  own_disk 400M "$fstype" $options
  data=$loopfs_mount/data
  call dataset make "$data" --count 3000 --size 4KiB
  expect_status 0
  drop
  new=$(walk)
  find "$data" -type f -exec cat {} + >/dev/null
  drop
  used=$(walk)
  umount "$loopfs_mount"
  mount "$loopfs_device" "$loopfs_mount"
  anew=$(walk)
  echo "$disk: $new bytes when new, $used after reading, $anew when mounted anew"
  ((new * 100 >= anew * 95 && used * 100 >= anew * 95)) || die "$disk: a drop leaves metadata in memory"
  loopfs_remove
done
