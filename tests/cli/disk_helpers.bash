# shellcheck shell=bash disable=SC2034,SC2154
# For the tests of emulated disks; to be sourced after helpers.bash. $disk is a name of this test's own.

disk=test-$$

need_disks() {
  [ "$(id -u)" = 0 ] || skip 'needs root for emulated disks'
  [[ -c /dev/fuse && -c /dev/loop-control ]] || skip 'no /dev/fuse or /dev/loop-control'
  call disk start "$disk" --model none --size 16MiB
  [ "$status" != 77 ] || skip "$err"
  expect_status 0
  at_exit "$blksweep --quiet disk stop $disk --force 2>/dev/null"
  call disk stop "$disk"
  expect_status 0
}

# rotating_data COUNT: so many files of 256 KiB in $tmp/mnt/data, on a modelled disk of four times its speed
rotating_data() {
  mkdir "$tmp/mnt"
  call disk start "$disk" --model none --size 96MiB --fs ext4 --mount "$tmp/mnt" --speedup 4
  expect_status 0
  call dataset make "$tmp/mnt/data" --count "$1" --size 256KiB
  expect_status 0
  call disk set "$disk" --model hdd-7200
}

# field KEY: of the JSON on stdout
field() { /usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$tmp/.out" "$1"; }

daemon_pid() { cut -d ' ' -f 1 "/run/blksweep/disks/$disk/daemon"; }

# No mount, loop device, process or folder of $disk.
nothing_left() {
  ! grep -q "blksweep/disks/$disk/" /proc/self/mountinfo || die 'a FUSE mount is left'
  ! grep -q " $tmp/mnt " /proc/self/mountinfo || die 'a mount is left'
  ! grep -qs "/disks/$disk/" /sys/block/loop*/loop/backing_file || die 'a loop device is left'
  [ ! -e "/run/blksweep/disks/$disk" ] || die 'the state folder is left'
  ! grep -qsa "disk-daemon.$disk" /proc/[0-9]*/cmdline || die 'the daemon is left'
}
