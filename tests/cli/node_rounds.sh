#!/usr/bin/env bash
# Runs that borrow from the node are cut off at random moments. Killed: `node restore` has everything
# as before. Interrupted: everything is as before without it. ROUNDS (12) of each kind.
# Side by side: a disk and a /run of its own; what is put back is looked at.
set -euo pipefail
# shellcheck source=tests/cli/own_run.bash
. "$(dirname "$0")/own_run.bash"
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"
# shellcheck source=tests/cli/node_helpers.bash
. "$(dirname "$0")/node_helpers.bash"

[ "$(id -u)" = 0 ] || skip 'needs root to change queue settings'
rounds=${ROUNDS:-12}
RANDOM=${SEED:-1}
at_exit loopfs_remove
loopfs_make "$tmp/disk.img" "$tmp/disk" 256MiB ext4 || skip "$loopfs_reason"
disk=${loopfs_device#/dev/}
call dataset make "$tmp/disk/data" --count 2000 --size 16KiB
expect_status 0
make_catalog "$tmp/disk/data" "$tmp/data.cat"

# Values that no default has, so that one that is not put back shows.
echo mq-deadline >"/sys/block/$disk/queue/scheduler"
echo 77 >"/sys/block/$disk/queue/iosched/read_expire"
echo 100 >"/sys/block/$disk/queue/nr_requests"
echo 192 >"/sys/block/$disk/queue/read_ahead_kb"
# Groups of a process that a test beside this one killed are there until that test has put them back; ours would stay.
settled() { # COMMAND... : until it holds
  local tries
  for ((tries = 0; tries < 50; ++tries)); do
    ! "$@" || return 0
    sleep 0.1
  done
  return 1
}
alone() { before=$(node_state "$disk") && [[ $before != *blksweep-[0-9]* ]]; }
settled alone || die "groups that nobody takes down: $before"

# shellcheck disable=SC2054  # the commas are the program's
options=(--scheduler none,bfq,kyber --nr-requests 32 --read-ahead 64KiB --buffered --cache cold
  --memory-limit 64MiB --bandwidth-limit 400MB/s --pin-inodes --pin-pages 25% --bind cpu:0
  --ioprio be:6 --repeats 50 --no-probe --no-ceiling)

# The shell's own place in the cgroups and the affinity belong to the state: both are read anew.
same() { after=$(node_state "$disk") && [ "$after" = "$before" ]; }
as_before() {
  local after
  settled same || die "round $1: $(diff <(echo "$before") <(echo "$after"))"
}

# start: the run in the background; its fio twin takes part in every third round.
start() {
  local -a all=("${options[@]}")
  (($1 % 3)) || all+=(--fio-twin)
  TMPDIR=$tmp "$blksweep" --quiet run --catalog "$tmp/data.cat" "${all[@]}" >/dev/null 2>"$tmp/.err" </dev/null &
  pid=$!
}
# Whether the run has borrowed something just now; a round without it shows nothing.
borrowed=0
note_borrowing() {
  ! ls /run/blksweep/journal/"$pid"-* >/dev/null 2>&1 || borrowed=$((borrowed + 1))
}
a_moment() {
  local ms=$((RANDOM % 2500 + 100))
  sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
}

for ((round = 1; round <= rounds; ++round)); do
  start "$round"
  a_moment
  note_borrowing
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null || true
  call node restore
  expect_status 0
  as_before "$round (SIGKILL)"
done
echo "killed and restored: $rounds of $rounds, $borrowed of them with something borrowed"
((borrowed * 2 > rounds)) || die 'most rounds had nothing to restore'

signals=(INT TERM HUP)
borrowed=0
for ((round = 1; round <= rounds; ++round)); do
  start "$round"
  a_moment
  note_borrowing
  kill "-${signals[round % 3]}" "$pid" 2>/dev/null || true
  status=0
  wait "$pid" 2>/dev/null || status=$?
  err=$(cat "$tmp/.err")
  # Before the handlers stand, the signal's own action ends the program: nothing is borrowed then.
  [[ $status =~ ^(130|129|143)$ ]] || die "round $round: ended with $status"
  as_before "$round (SIG${signals[round % 3]})"
done
echo "interrupted: $rounds of $rounds, $borrowed of them with something borrowed"
((borrowed * 2 > rounds)) || die 'most rounds had nothing to give back'
