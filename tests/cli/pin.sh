#!/usr/bin/env bash
# Pins hold what they say: 200,000 inodes under RLIMIT_NOFILE 20,000 and the pages of files, through
# drop_caches, with no read of the device afterwards; a daemon that is killed takes all of it along.
# Side by side: pins keep what others drop; on a disk of its own.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

name=test-$$

# Nothing holds the mount, at the latest a second after SIGKILL. Leaves it unmounted.
is_let_go() {
  local i
  for ((i = 0; i < 100; i++)); do
    ! umount "$tmp/mnt" 2>/dev/null || return 0
    sleep 0.01
  done
  die 'the mount is held one second after SIGKILL'
}

# --- bad input, which needs no root --------------------------------------------------------------
mkdir "$tmp/few"
touch "$tmp/few/a" "$tmp/few/b"
call cache pin --name '../evil' --inodes "$tmp/few"
expect_error 2 "'../evil'"
call cache pin --name "$name" "$tmp/few"
expect_error 2 --inodes --pages
call cache pin --name "$name" --inodes --pages "$tmp/few"
expect_error 2 --inodes --pages
call cache pin --name "$name" --inodes
expect_error 2 --list
for percent in 0 101 -3 many nan; do
  call cache pin --name "$name" --pages --percent="$percent" "$tmp/few"
  expect_error 2 --percent "'$percent'"
done
call cache pin --name "$name" --inodes --percent 25 "$tmp/few"
expect_error 2 --percent --pages
call cache pin --name "$name" --inodes --dry-run "$tmp/none"
expect_error 1 "$tmp/none" 'No such file'
call cache pin --name "$name" --inodes --dry-run --list "$tmp/no-list"
expect_error 1 "$tmp/no-list"
mkdir "$tmp/empty"
call cache pin --name "$name" --pages --dry-run "$tmp/empty"
expect_error 1 'no files'
call cache unpin
expect_error 2 --all

# --- what it would take, and what cannot fit -----------------------------------------------------
# field KEY: of the JSON on stdout
field() { $python -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$tmp/.out" "$1"; }
call cache pin --name "$name" --inodes "$tmp/few" --dry-run --json
expect_status 0
[ "$(field files) $(field folders) $(field fits)" = '2 1 True' ] || die 'another forecast'
(($(field kernel_memory_bytes) > 3 * 500)) || die 'an inode takes more than 500 bytes'
mkdir "$tmp/names"
for f in a b; do
  truncate -s 1M "$tmp/names/$f"
  ln "$tmp/names/$f" "$tmp/names/$f.other"
done
call cache pin --name "$name" --pages "$tmp/names" "$tmp/names/a" --dry-run --json
[ "$(field files) $(field locked_bytes)" = '2 2097152' ] || die 'pages of a file count once, whatever its names'
if truncate -s 8T "$tmp/huge" 2>/dev/null; then
  call cache pin --name "$name" --pages "$tmp/huge" --dry-run
  expect_status 1
  [[ $out == *'fits        no'* && $err == *available* ]] || die 'no refusal of 8 TiB'
  rm "$tmp/huge"
fi
head -c 256K /dev/zero >"$tmp/few/c"
chmod 755 "$tmp" "$tmp/few"
(
  ulimit -l 64
  call as_nobody cache pin --name "$name" --pages "$tmp/few" --dry-run
  expect_status 77
  [[ $err == *RLIMIT_MEMLOCK* && $err == *'64 KiB'* ]] || die 'the limit is not named'
) || exit 1
echo 'bad input and forecasts: fine'

call as_nobody cache pin --name "$name" --inodes "$tmp/few"
expect_error 77 /run
[ "$(id -u)" = 0 ] || skip 'needs root for /run, loop devices and drop_caches'
[ -w /proc/sys/vm/drop_caches ] || skip 'drop_caches is not writable'

# --- the daemon: list, a name taken, unpin -------------------------------------------------------
at_exit "'$blksweep' --quiet cache unpin $name 2>/dev/null"
pin_pid() { $python -c 'import json, sys; print(*[p["pid"] for p in json.load(open(sys.argv[1]))["pins"] if p["name"] == sys.argv[2]])' "$tmp/.out" "$name"; }
pin_state() { $python -c 'import json, sys; print(*[p["state"] for p in json.load(open(sys.argv[1]))["pins"] if p["name"] == sys.argv[2]])' "$tmp/.out" "$name"; }
call cache pin --name "$name" --inodes "$tmp/few"
expect_status 0
[[ $out == *'3 files and 1 folders'* && $out == *'per file'* ]] || die 'pin says something else'
call cache list --json
[ "$(pin_state)" = alive ] || die 'the pin is not listed'
pid=$(pin_pid)
[ "$(readlink "/proc/$pid/cwd")" = / ] || die 'the daemon is in a folder'
[ "$(ps -o sid= -p "$pid" | tr -d ' ')" = "$pid" ] || die 'the daemon has no session of its own'
kill -HUP "$pid"
kill -INT "$pid"
call cache pin --name "$name" --pages "$tmp/few"
expect_error 1 "$name" "pid $pid" unpin
call cache unpin no-such-pin
expect_error 1 no-such-pin "$name"
call cache unpin "$name"
expect_status 0
# A zombie is gone: reaping is its parent's.
! grep -qs '^State:.[^Z]' "/proc/$pid/status" || die 'unpin returned before the daemon was gone'
call cache unpin "$name"
expect_error 1 "$name"
call cache list
[[ $out != *"$name"* ]] || die 'listed after unpin'

# --- killed: everything goes with it, the entry is dead and can be taken over ----------------------
call cache pin --name "$name" --pages "$tmp/few"
expect_status 0
call cache list --json
pid=$(pin_pid)
kill -KILL "$pid"
for ((i = 0; i < 100; i++)); do
  grep -qs "$tmp/few" "/proc/$pid/maps" || break
  sleep 0.01
done
((i < 100)) || die 'held one second after SIGKILL'
call cache list --json
[ "$(pin_state)" = dead ] || die 'a killed pin is not listed as dead'
call cache pin --name "$name" --inodes "$tmp/few"
expect_status 0
call cache unpin "$name"
expect_status 0
echo 'daemon: fine'

# --- damaged and foreign entries -----------------------------------------------------------------
echo '{"name": 1' >"/run/blksweep/pins/$name"
call cache pin --name "$name" --inodes "$tmp/few"
expect_error 1 "pins/$name" damaged
call cache unpin "$name"
expect_status 0
ln -s "$tmp/few/a" "/run/blksweep/pins/$name"
call cache pin --name "$name" --inodes "$tmp/few"
expect_error 1 "pins/$name" 'symbolic link'
[ ! -s "$tmp/few/a" ] || die 'a link was followed'
rm "/run/blksweep/pins/$name"

# --- 200,000 files under RLIMIT_NOFILE 20,000 ----------------------------------------------------
at_exit loopfs_remove
# ext4 must not read and write of its own accord, later: every read is counted.
loopfs_make "$tmp/image" "$tmp/mnt" 1G ext4 -N 250000 -E lazy_itable_init=0,lazy_journal_init=0 ||
  skip "$loopfs_reason"
$python - "$tmp/mnt" <<'PY'
import os, sys
for c in range(200):
    folder = f"{sys.argv[1]}/c{c:03d}"
    os.mkdir(folder)
    for i in range(1000):
        os.close(os.open(f"{folder}/f{i:04d}", os.O_CREAT | os.O_WRONLY))
PY
# Mounted anew: what the journal still holds is not dropped.
# Without access times, whose writing back reads blocks that were dropped, at a time of its own.
umount "$tmp/mnt"
mount -o noatime "$loopfs_device" "$tmp/mnt"
stat_file=/sys/block/${loopfs_device#/dev/}/stat
echo 1 >"${stat_file%/stat}/queue/iostats"
find "$tmp/mnt" -name 'f*' | LC_ALL=C sort >"$tmp/list"
# Spread over all folders, as samples are; side by side, the filesystem's readahead takes them in 200.
awk 'NR % 10 == 1' "$tmp/list" >"$tmp/list.20000"
# reads_of_opening LIST: drops the caches, opens every file, prints the reads of the device meanwhile
reads_of_opening() {
  local before after
  echo 3 >/proc/sys/vm/drop_caches
  before=$(awk '{ print $1 }' "$stat_file")
  $python -c 'import os, sys
for line in open(sys.argv[1]): os.close(os.open(line[:-1], os.O_RDONLY))' "$1"
  while [ "$(tr -d ' ' <"${stat_file%/stat}/inflight")" != 00 ]; do sleep 0.01; done
  after=$(awk '{ print $1 }' "$stat_file")
  echo $((after - before))
}
# The least of three: who looks at all mounts of the node meanwhile reads the root folder after a drop.
least_reads_of_opening() {
  local least now
  least=$(reads_of_opening "$1")
  for _ in 1 2; do
    [ "$least" = 0 ] && break
    now=$(reads_of_opening "$1")
    least=$((now < least ? now : least))
  done
  echo "$least"
}
hard=$(ulimit -Hn)
if [ "$hard" = unlimited ] || ((hard > 20000)); then
  ulimit -n 20000
fi
reads=$(reads_of_opening "$tmp/list.20000")
((reads > 300)) || die "opening 20,000 files cold reads only $reads times"
call cache pin --name "$name" --inodes --list "$tmp/list.20000"
expect_status 0
pinned=$(least_reads_of_opening "$tmp/list.20000")
[ "$pinned" = 0 ] || die "opening 20,000 pinned files reads $pinned times"
call cache unpin "$name"
expect_status 0
again=$(reads_of_opening "$tmp/list.20000")
((again > 300)) || die "unpinned, but opening reads only $again times"
echo "20,000 files: $reads reads cold, $pinned pinned, $again unpinned"

call cache pin --name "$name" --inodes "$tmp/mnt"
expect_status 0
[[ $out == *'200,000 files'* ]] || die 'not all are pinned'
echo "$out"
pinned=$(least_reads_of_opening "$tmp/list")
[ "$pinned" = 0 ] || die "opening 200,000 pinned files reads $pinned times"
call cache list --json
pid=$(pin_pid)
for task in "/proc/$pid/task/"*; do
  (($(find "$task/fd" -mindepth 1 -maxdepth 1 -printf . | wc -c) <= 20000)) || die 'over the limit'
done
! umount "$tmp/mnt" 2>/dev/null || die 'unmounted under a pin'
kill -KILL "$pid"
is_let_go
mount "$loopfs_device" "$tmp/mnt"
call cache unpin "$name"
expect_status 0

# --- Ctrl-C while it pins: nothing is left -------------------------------------------------------
for _ in 1 2 3 4; do cat "$tmp/list"; done >"$tmp/list.long"
"$blksweep" cache pin --name "$name" --inodes --list "$tmp/list.long" >"$tmp/.out" 2>"$tmp/.err" &
pinning=$!
until [ -e "/run/blksweep/pins/$name" ] || [ ! -e "/proc/$pinning" ]; do sleep 0.005; done
kill -INT "$pinning"
status=0
wait "$pinning" || status=$?
expect_status 130
[ ! -e "/run/blksweep/pins/$name" ] || die 'an entry is left after Ctrl-C'
umount "$tmp/mnt" || die 'held after Ctrl-C'
mount "$loopfs_device" "$tmp/mnt"

# The command killed while it pins: the daemon undoes it, too.
"$blksweep" cache pin --name "$name" --inodes --list "$tmp/list.long" >"$tmp/.out" 2>"$tmp/.err" &
pinning=$!
until [ -e "/run/blksweep/pins/$name" ] || [ ! -e "/proc/$pinning" ]; do sleep 0.005; done
kill -KILL "$pinning"
wait "$pinning" 2>/dev/null || true
for ((i = 0; i < 500; i++)); do
  [ -e "/run/blksweep/pins/$name" ] || break
  sleep 0.01
done
((i < 500)) || die 'pinned without the command that asked for it'
echo 'interrupted: nothing left'

# --- pages: a share of the bytes stays, the rest goes --------------------------------------------
call dataset make "$tmp/mnt/data" --count 400 --size 64KiB --classes 4
expect_status 0
sync
call cache pin --name "$name" --pages --percent 25% "$tmp/mnt/data" --json
expect_status 0
[ "$(field files) $(field bytes)" = "100 $((100 * 65536))" ] || die 'not 25 % of the bytes'
echo 3 >/proc/sys/vm/drop_caches
$python - "$tmp/mnt/data" <<'PY' || die 'other pages are resident than were pinned'
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
resident = []
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        fd = os.open(os.path.join(folder, name), os.O_RDWR)
        at = libc.mmap(None, 65536, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
        pages = ctypes.create_string_buffer(16)
        assert libc.mincore(at, 65536, pages) == 0
        resident.append(sum(p & 1 for p in pages.raw))
        os.close(fd)
assert resident.count(16) == 100 and resident.count(0) == 300, sorted(resident)
PY
call cache unpin "$name"
expect_status 0

# More files than one process may map: helpers. They go with the daemon; when one is killed, the pin
# is dead as a whole.
many_pages() {
  call cache pin --name "$name" --pages --list "$tmp/list.pages" --json
  expect_status 0
  (($(field helpers) > 0)) || die 'no helper'
  pid=$(field pid)
}
limit=$(cat /proc/sys/vm/max_map_count)
if ((limit <= 100000)); then
  head -n $((limit + 100)) "$tmp/list" >"$tmp/list.pages"
  tr '\n' '\0' <"$tmp/list.pages" | xargs -0 truncate --size 1 # a hole takes a page in memory, and none on the disk
  many_pages
  kill -KILL "$pid"
  is_let_go
  mount "$loopfs_device" "$tmp/mnt"
  many_pages
  kill -KILL "$(pgrep -P "$pid" | sed -n 1p)"
  is_let_go
  call cache list --json
  [ "$(pin_state)" = dead ] || die 'half a pin is sold as a whole one'
fi
echo 'pages: fine'
