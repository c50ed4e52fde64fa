# shellcheck shell=bash disable=SC2034,SC2154
# For the tests of specs that set up disks; to be sourced after helpers.bash. Their workdir is $tmp/work.

need_spec_disks() {
  [ "$(id -u)" = 0 ] || skip 'needs root for disks'
  [[ -c /dev/fuse && -c /dev/loop-control ]] || skip 'no /dev/fuse or /dev/loop-control'
  at_exit "cd / && '$blksweep' --quiet node restore >/dev/null 2>&1"
}

# What of this test is up: mounts, loop devices, daemons, folders of the registry, journals. Nothing: no line.
left_of_spec() {
  local disk file
  grep -o " $tmp/work/[^ ]*" /proc/self/mountinfo | sed 's/^/mount/' || true
  for disk in "$tmp"/work/*/; do
    disk=$(basename "$disk")
    compgen -G "/run/blksweep/disks/$disk-*" || true
    grep -lsa "disk-daemon.$disk-" /proc/[0-9]*/cmdline || true
    grep -ls "/disks/$disk-" /sys/block/loop*/loop/backing_file || true
  done
  grep -ls "$tmp/work/" /sys/block/loop*/loop/backing_file || true
  grep -ls "$tmp/work\"" /run/blksweep/journal/* 2>/dev/null || true
}

nothing_left_of_spec() {
  local left
  left=$(left_of_spec)
  [ -z "$left" ] || die "$1: left behind: $left"
}

ask() { sqlite3 "$tmp/results.db" "$1"; }

# No repeat of a cell is there twice; whole runs only.
no_run_twice() {
  [ -z "$(ask 'SELECT cell_id, repeat FROM run WHERE incomplete = 0 GROUP BY cell_id, repeat HAVING count(*) > 1')" ] ||
    die 'a run was made twice'
}
