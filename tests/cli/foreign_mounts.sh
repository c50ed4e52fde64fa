#!/usr/bin/env bash
# A FUSE filesystem of a stranger's, which never answers and calls itself the disk: nothing waits for it,
# no setting of the disk follows from it, and it is not unmounted in place of root's own.
# Side by side: mounts of its own.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/stranger_helpers.bash
. "$(dirname "$0")/stranger_helpers.bash"
# shellcheck source=tests/cli/disk_helpers.bash
. "$(dirname "$0")/disk_helpers.bash"

need_disks
command -v mkfs.ext4 >/dev/null || skip 'needs mkfs.ext4'
mkdir "$tmp/mnt"
call disk start "$disk" --model none --size 64MiB --fs ext4 --mount "$tmp/mnt" --json
expect_status 0
device=$(field device)

# As fusermount does it for a user, without one: the kernel asks, and nobody answers.
cat >"$tmp/mount.py" <<'PY'
import ctypes, os, sys, time

libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fd},rootmode=40000,user_id=65534,group_id=65534,allow_other"
if libc.mount(sys.argv[2].encode(), sys.argv[1].encode(), b"fuse.they", 6, options.encode()) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
open(sys.argv[3], "w").close()
time.sleep(300)
PY
install -d -o nobody -g nogroup "$theirs/data/fuse"
echo one >"$theirs/data/one"
"$python" "$tmp/mount.py" "$theirs/data/fuse" "$device" "$tmp/mounted" &
server=$!
away() {
  umount -l "$theirs/data/fuse" || true
  kill "$server" || true
  wait "$server" 2>/dev/null || true
}
at_exit away
for _ in $(seq 100); do
  [ ! -e "$tmp/mounted" ] || break
  sleep 0.05
done
[ -e "$tmp/mounted" ] || skip 'FUSE cannot be mounted here'

soon() {
  local why=$1
  shift
  status=0
  err=$(timeout -s KILL 10 "$blksweep" --quiet "$@" 2>&1 >"$tmp/.out" </dev/null) || status=$?
  [ "$status" != 137 ] || die "$why: waits for a stranger"
  [ "$status" = 1 ] || die "$why: status $status: $err"
  [[ $err$(cat "$tmp/.out") == *"FUSE filesystem is mounted on $theirs/data/fuse"* ]] || die "$why: $err"
}
soon catalog catalog "$theirs/data" -o "$tmp/c.cat"
soon run run --data "$theirs/data"
soon 'cache stat' cache stat "$theirs/data"
soon 'node set' node set --device "$theirs/data/fuse" --read-ahead 64KiB
soon 'node show' node show "$theirs/data/fuse"
soon doctor doctor "$theirs/data"
echo 'reads of it: refused'

call disk stop "$disk"
expect_status 0
nothing_left
grep -q " $theirs/data/fuse " /proc/self/mountinfo || die 'disk stop unmounted a filesystem that only calls itself the disk'
echo 'disk stop: its own mounts only'
