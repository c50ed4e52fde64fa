# shellcheck shell=bash disable=SC2034,SC2154
# For the tests that need a disk of their own; to be sourced after helpers.bash.

# shellcheck source=scripts/loopfs.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/loopfs.sh"

# own_disk SIZE [TYPE [MKFS_OPTION...]] : an empty filesystem at $loopfs_mount, on the loop device
# $loopfs_device, gone when the test ends
own_disk() {
  [ "$(id -u)" = 0 ] || skip 'needs root to mount loop devices'
  at_exit loopfs_remove
  loopfs_make "$tmp/disk.img" "$tmp/disk" "$1" "${2:-ext4}" "${@:3}" || skip "$loopfs_reason"
  # What is left by one who had the device before is nobody's: a test begins with the kernel's own choice.
  loopfs_is "/sys/block/${loopfs_device#/dev/}/queue/scheduler" none && return
  echo "note: ${loopfs_device#/dev/} was found with $(cat "/sys/block/${loopfs_device#/dev/}/queue/scheduler")"
  echo none >"/sys/block/${loopfs_device#/dev/}/queue/scheduler"
  loopfs_note_queue
}
