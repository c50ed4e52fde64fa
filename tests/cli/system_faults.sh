#!/usr/bin/env bash
# A system call that fails (seccomp answers one use of it in its place) ends in a line that names it, leaves nothing changed,
# and is never taken for "there is nothing". Those that once were, out of the sweep of tests/soak/faults.sh.
# Side by side: on a loop device, disk and pin of its own.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"
# shellcheck source=tests/cli/disk_helpers.bash
. "$(dirname "$0")/disk_helpers.bash"

gcc -O1 -o "$tmp/fail_call" "$(dirname "$0")/../support/fail_call.c"

# failing CALL WHAT OBJECT ERRNO N ARGUMENT... : as `call`; the fault must have happened
failing() {
  local -a fault=("${@:1:5}")
  shift 5
  status=0
  "$tmp/fail_call" "$tmp/log" "$blksweep" "${fault[@]}" "$blksweep" --quiet "$@" >"$tmp/.out" 2>"$tmp/.err" </dev/null || status=$?
  out=$(cat "$tmp/.out") err=$(cat "$tmp/.err")
  [ "$status" != 99 ] || skip 'seccomp hands no calls to another process here'
  for _ in $(seq 200); do
    ! grep -q '^failed' "$tmp/log" || return 0
    sleep 0.01
  done
  die "${fault[*]}: no such use of it"
}
EIO=5 EACCES=13 ENOMEM=12 EMFILE=24 EPERM=1

# --- a folder that cannot be looked at -------------------------------------------------------
"$blksweep" --quiet dataset make "$tmp/data" --count 20 --size 4KiB >/dev/null
data_name=$(sed -E 's/[0-9]+/#/g' <<<"$tmp/data")
for use in "data.cat 1" "data 1" "data/.blksweep-pack 1" "data 2"; do
  failing newfstatat - "${data_name%data}${use% *}" "$EIO" "${use#* }" catalog "$tmp/data" -o "$tmp/data.cat"
  expect_error 1 "$tmp/data" 'Input/output error'
  [ ! -e "$tmp/data.cat" ] || die "$use: a catalog was written"
done
failing newfstatat - - "$EIO" 2 cache stat "$tmp/data"
expect_error 1 "$tmp/data" 'Input/output error'
failing openat2 - 'class_#' "$EACCES" 1 run --data "$tmp/data" --no-probe --buffered --no-ceiling --json
expect_status 0
expect 'fewer samples without a word' "run['samples'] < 20 and any('class_' in w and 'Permission denied' in w for w in run['warnings'])"
echo 'catalog, cache, run: a folder that cannot be looked at is an error'

# --- a thread that cannot be started -----------------------------------------------------------
failing clone3 - - 11 1 run --data "$tmp/data" --no-probe --buffered --no-ceiling
expect_status 1
[[ $err == *RLIMIT_NPROC* ]] || die 'does not say what could not be started'
echo 'no thread: named'

own_disk 48M
disk_name=${loopfs_device#/dev/}
queue=/sys/block/$disk_name/queue
scheduler() { cat "$queue/scheduler"; }
[[ $(scheduler) == *mq-deadline* ]] || skip 'no mq-deadline'

# --- what cannot be put back is not changed -------------------------------------------------------
for use in 1 2 3; do
  failing pread64 - '/sys/devices/virtual/block/loop#/queue/scheduler' "$EIO" "$use" \
    node exec --device "$loopfs_device" --scheduler mq-deadline -- true || true
  [[ $(scheduler) == *'[none]'* ]] || die "use $use: the scheduler stays changed"
  [ "$use" = 1 ] || continue
  expect_status 1
  [[ $err == *scheduler*'Input/output error'* ]] || die 'not named'
done
echo 'a value that cannot be read is not changed'

# --- a journal, a process that cannot be read: neither "nothing is borrowed" nor dead ---------------
failing getdents64 - /run/blksweep/journal "$ENOMEM" 1 node restore
expect_error 1 /run/blksweep/journal 'Cannot allocate memory'
"$blksweep" --quiet node exec --device "$loopfs_device" --scheduler mq-deadline -- sleep 60 2>/dev/null &
borrower=$!
end_at_exit "$borrower"
until [[ $(scheduler) == *'[mq-deadline]'* ]]; do kill -0 "$borrower" || die 'node exec ended'; done
failing openat - '/proc/#/stat' "$EMFILE" 1 node restore
[[ $(scheduler) == *'[mq-deadline]'* ]] || die 'a process that could not be looked at was taken for dead'
kill "$borrower"
wait "$borrower" 2>/dev/null || true
[[ $(scheduler) == *'[none]'* ]] || die 'node exec did not put the scheduler back'
echo 'journal, process: not read is not gone'

# --- pins: no descriptor is left to ask the daemon by; an entry that cannot be read ------------------
pin=faults-$$
at_exit "$blksweep --quiet cache unpin $pin 2>/dev/null"
call cache pin --name "$pin" --inodes "$tmp/data"
expect_status 0
failing pread64 - '/run/blksweep/pins/faults-#' "$EIO" 1 cache unpin "$pin"
expect_error 1 "$pin" 'Input/output error'
failing pidfd_open - - "$EMFILE" 1 cache unpin "$pin"
expect_status 0
[ ! -e "/run/blksweep/pins/$pin" ] || die 'the pin is left'
failing poll - - "$ENOMEM" 2 cache pin --name "$pin" --inodes "$tmp/data"
expect_status 0
call cache unpin "$pin"
expect_status 0
echo 'pins: let go'

# --- a disk whose loop device is not seen is not taken apart half ---------------------------------------
need_disks
call disk start "$disk" --model none --size 16MiB
expect_status 0
failing openat - /sys/block "$EMFILE" 1 disk stop "$disk"
expect_error 1 /sys/block 'open files'
failing openat - /proc/self/mountinfo "$EACCES" 1 disk stop "$disk"
expect_error 1 mountinfo 'Permission denied'
call disk stop "$disk"
expect_status 0
nothing_left
failing mount - - "$EPERM" 1 disk start "$disk" --model none --size 16MiB
expect_status 1 77
nothing_left
echo 'disk: refused whole, then stopped'

# --- the kernel refuses what the probes' library tries first ---------------------------------------------
if ! "$blksweep" --quiet probe "$disk_name" --seconds 1 >/dev/null 2>&1; then
  skip 'no probe here'
fi
for verb in "probe $disk_name --seconds 1" "trace record --device $disk_name --seconds 1 -o $tmp/x.trace"; do
  # shellcheck disable=SC2086
  failing bpf 0 - "$EPERM" 1 $verb
  ((status < 128)) || die "$verb: ended by a signal"
done
echo 'probes: no crash'
