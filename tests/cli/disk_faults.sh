#!/usr/bin/env bash
# What goes wrong with an emulated disk is one clear error each, and everything can be taken away
# afterwards: a daemon that is killed or held, a backing that is gone or full, a disk that is busy, an
# interrupt at any time.
# Alone: while a daemon is dead, mkfs.btrfs fails for every disk of the node (it looks at the backing file of each
# loop device that is mounted).
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/disk_helpers.bash
. "$(dirname "$0")/disk_helpers.bash"

need_disks
mkdir "$tmp/mnt"

start() {
  call disk start "$disk" "$@"
  expect_status 0
}
stop() {
  call disk stop "$disk" "$@"
  expect_status 0
  nothing_left
}

# --- the same name twice; busy ------------------------------------------------------------------
start --model none --size 64MiB --fs ext4 --mount "$tmp/mnt"
pid=$(daemon_pid)
call disk start "$disk" --model none --size 64MiB
expect_error 1 "$disk" "$pid" 'disk stop'
[ "$(daemon_pid)" = "$pid" ] || die 'the second start touched the first disk'
(cd "$tmp/mnt" && exec sleep 300) &
sleeper=$!
end_at_exit "$sleeper"
until [ "$(readlink "/proc/$sleeper/cwd")" = "$tmp/mnt" ]; do :; done
call disk stop "$disk"
expect_error 1 "$sleeper" 'nothing was changed'
mountpoint -q "$tmp/mnt" || die 'a refused stop unmounted'
echo kept >"$tmp/mnt/file"
kill "$sleeper"
wait "$sleeper" 2>/dev/null || true
# SIGTERM does not end a daemon under a mounted filesystem.
kill -TERM "$pid"
echo 'again' >"$tmp/mnt/file"
sync "$tmp/mnt/file" || die 'SIGTERM ended the daemon'
stop
echo 'second start, busy, SIGTERM: refused'

# --- kill -9 during a run -----------------------------------------------------------------------
start --model none --size 256MiB --fs ext4 --mount "$tmp/mnt"
call dataset make "$tmp/mnt/data" --count 2000 --size 16KiB
expect_status 0
sync -f "$tmp/mnt"
make_catalog "$tmp/mnt/data" "$tmp/data.cat"
call disk set "$disk" --model hdd-7200 --speedup 20
expect_status 0
"$blksweep" --quiet run --catalog "$tmp/data.cat" --order random --cache cold --no-probe \
  --no-ceiling --repeats 3 --json >"$tmp/.out" 2>"$tmp/.err" </dev/null &
run=$!
end_at_exit "$run"
reads() { awk '{ print $1 }' "/sys/block/$1/stat"; }
loop=$(basename "$(findmnt -no SOURCE "$tmp/mnt")")
before=$(reads "$loop")
until (($(reads "$loop") > before + 100)); do kill -0 "$run" || break; done
kill -9 "$(daemon_pid)"
status=0
wait "$run" || status=$?
out=$(cat "$tmp/.out") err=$(cat "$tmp/.err")
expect_status 1 3
# By then ext4 may have made itself read-only, which is what the next write back is told.
[ "$status" = 3 ] || [[ $err == *'Input/output error'* || $err == *'Read-only file system'* ]] ||
  die 'the run does not name the I/O error'
call disk list
[[ $out == *dead* ]] || die 'list does not say that the daemon is dead'
call disk stats "$disk"
expect_error 1 dead 'disk stop'
call disk start "$disk" --model none --size 64MiB
expect_error 1 'disk stop'
stop
echo 'kill -9 during a run: clean'

# --- kill -9 while data are being written; a daemon that is held --------------------------------
start --model none --size 256MiB --fs ext4 --mount "$tmp/mnt"
dd if=/dev/zero of="$tmp/mnt/fill" bs=1M status=none 2>/dev/null &
writer=$!
until [ -s "$tmp/mnt/fill" ]; do :; done
kill -9 "$(daemon_pid)"
wait "$writer" || true
mkdir "$tmp/other"
call disk start "$disk-2" --model none --size 128MiB --fs btrfs --mount "$tmp/other"
expect_error 1 'mkfs.btrfs' 'the daemon of another disk ended' 'blksweep disk list'
stop
start --model none --size 64MiB --fs ext4 --mount "$tmp/mnt"
kill -STOP "$(daemon_pid)"
call disk list
[[ $out == *held* ]] || die 'list does not say that the daemon is held'
call disk stats "$disk"
expect_error 1 'kill -CONT'
call disk stop "$disk"
expect_error 1 'kill -CONT'
kill -CONT "$(daemon_pid)"
stop
start --model none --size 64MiB --fs ext4 --mount "$tmp/mnt"
kill -STOP "$(daemon_pid)"
stop --force
echo 'killed, held: taken away'

# --- the backing file is removed ----------------------------------------------------------------
start --model none --size 64MiB --backing "$tmp/gone.img" --fs ext4 --mount "$tmp/mnt"
echo precious >"$tmp/mnt/file"
rm "$tmp/gone.img"
call disk stop "$disk"
expect_error 1 "$tmp/gone.img was removed" 'cp --sparse=always /proc/'
status=0
"$blksweep" disk stats "$disk" >"$tmp/.out" 2>"$tmp/.err" || status=$?
grep -q 'was removed' "$tmp/.err" || die 'stats do not say that the backing file was removed'
sync -f "$tmp/mnt"
rescue=$(sed -n 's/.*\(cp --sparse=always [^'\'']*\).*/\1/p' "$tmp/.err")
eval "$rescue"
stop --force
start --model none --backing "$tmp/gone.img.rescued" --fs ext4 --mount "$tmp/mnt"
[ "$(cat "$tmp/mnt/file")" = precious ] || die 'the rescued file does not hold what was written'
stop
echo 'backing removed: refused, rescued'

# --- the backing's filesystem is full -----------------------------------------------------------
mkdir "$tmp/small"
mount -t tmpfs -o size=24m none "$tmp/small"
at_exit "umount $tmp/small"
"$blksweep" disk start "$disk" --model none --size 64MiB --backing "$tmp/small/full.img" \
  >"$tmp/.out" 2>"$tmp/.err"
grep -q 'writes will fail' "$tmp/.err" || die 'no warning that the backing may not fit'
call disk list --json
device=$(/usr/bin/python3 -c 'import json, sys
print(next(d["device"] for d in json.load(open(sys.argv[1]))["disks"] if d["name"] == sys.argv[2]))' "$tmp/.out" "$disk")
if dd if=/dev/zero of="$device" bs=1M count=60 oflag=direct status=none 2>"$tmp/dd.err"; then
  die 'a write beyond the backing succeeded'
fi
grep -qi 'no space left' "$tmp/dd.err" || die "the writer sees: $(cat "$tmp/dd.err")"
call disk stats "$disk"
[[ $out == *'No space left'* ]] || die 'stats do not name the error'
status=0
"$blksweep" disk stop "$disk" 2>"$tmp/.err" || status=$?
err=$(cat "$tmp/.err")
[[ $status == 0 && $err == *'No space left'* ]] || die 'stop does not name the error'
nothing_left
echo 'backing full: said'

# --- two disks on one file ----------------------------------------------------------------------
start --model none --size 16MiB --backing "$tmp/shared.img"
call disk start "$disk-2" --model none --backing "$tmp/shared.img"
expect_error 1 shared.img 'in use'
[ ! -e "/run/blksweep/disks/$disk-2" ] || die 'a failed start left its folder'
[ -e "$tmp/shared.img" ] || die 'a failed start removed a file that was there before'
stop

# --- SIGINT and kill -9 of the start, at many moments ----------------------------------------------
for ((i = 0; i < 24; i++)); do
  signal=INT
  ((i % 4 != 3)) || signal=KILL
  (exec "$blksweep" --quiet disk start "$disk" --model none --size 400MiB --backing "$tmp/int.img" \
    --fs ext4 --mount "$tmp/mnt" >/dev/null 2>"$tmp/.err" </dev/null) &
  child=$!
  sleep "0.0$((i * 4 % 10))$((i % 10))" # the moment is the point: any of them must do
  kill -"$signal" "$child" 2>/dev/null || true
  status=0
  wait "$child" 2>/dev/null || status=$?
  case $status in
    0 | 137) [ ! -e "/run/blksweep/disks/$disk" ] || { call disk stop "$disk" && expect_status 0; } ;;
    130) ;;
    *) err=$(cat "$tmp/.err") && die "start with SIG$signal: $status" ;;
  esac
  nothing_left
  rm -f "$tmp/int.img"
done
echo 'interrupted starts: nothing left'
