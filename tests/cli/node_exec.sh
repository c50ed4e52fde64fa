#!/usr/bin/env bash
# node exec: any command under borrowed settings; it ends as the command does, and nothing is left.
# Side by side: a disk and a /run of its own; what is put back is looked at.
set -euo pipefail
# shellcheck source=tests/cli/own_run.bash
. "$(dirname "$0")/own_run.bash"
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

root=false
[ "$(id -u)" != 0 ] || root=true

# Groups of one process, wherever they are.
groups_of() { find /sys/fs/cgroup -type d -name "blksweep-$1*" 2>/dev/null || true; }

# start ARGUMENT... : node exec in the background; the command writes its pid to $tmp/pid when it runs
start() {
  rm -f "$tmp/pid"
  env --default-signal=INT,QUIT "$blksweep" --quiet node exec "$@" >"$tmp/.out" 2>"$tmp/.err" &
  exec_pid=$!
  until [ -s "$tmp/pid" ]; do
    kill -0 "$exec_pid" || die "node exec ended before its command ran: $(cat "$tmp/.err")"
    sleep 0.02
  done
  command_pid=$(cat "$tmp/pid")
}

join() {
  status=0
  wait "$exec_pid" 2>"$tmp/.wait" || status=$?
}

ended() {
  local state
  [ -e "/proc/$1/stat" ] || return 0
  state=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null || true)
  [[ -z $state || $state == Z* ]]
}

# shellcheck disable=SC2016  # expanded by the command
forever='echo $$ >"$0"; while :; do sleep 0.05; done'

ends_as_its_command() {
  call node exec -- sh -c 'exit 7'
  expect_status 7
  call node exec -- sh -c 'kill -KILL $$'
  expect_status 137
  call node exec -- printf '<%s>' '[a,b]' '{}' '' --device '%s' -- 'a b'
  expect_status 0
  [ "$out" = '<[a,b]><{}><><--device><%s><--><a b>' ] || die 'arguments were changed'
  status=0
  out=$(echo piped | "$blksweep" node exec -- cat)
  [ "$out" = piped ] || die 'input or output did not go through'
  call node exec -- "$tmp/no-such-command" --with arguments
  expect_error 127 "run $tmp/no-such-command" 'No such file or directory'
  call node exec -- "$tmp"
  expect_error 126 'Permission denied'
}

# Some supervisors ignore SIGCHLD, which a program that they start inherits.
ends_though_its_parent_ignores_children() {
  status=0
  timeout -k 1 20 /usr/bin/python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$blksweep" node exec -- sh -c 'exit 7' || status=$?
  expect_status 7
}

refuses_bad_input() {
  call node exec
  expect_error 2 'after --'
  call node exec true
  expect_error 2 'after --'
  call node exec --memory-limit 1MiB -- true
  expect_error 2 '1 MiB' 'at least 8 MiB'
  call node exec --memory-limit 64 -- true
  expect_error 2 --memory-limit "'64'"
  call node exec --bandwidth-limit 100MB -- true
  expect_error 2 --bandwidth-limit "'100MB'"
  call node exec --bandwidth-limit 100MB/s -- true
  expect_error 2 --device
  call node exec --scheduler none -- true
  expect_error 2 --device
  call node exec --device /proc --iops-limit 5 -- true
  expect_error 77 /proc
  call node exec --device no-such-disk --iops-limit 5 -- true
  expect_error 1 no-such-disk
  call node exec --device "$tmp" --read-ahead 1000B -- true
  expect_error 2 --read-ahead 1000
  call node exec --bind cpu:4095 -- true
  expect_error 2 cpu:4095 'may run on'
  call node exec --bind reader=all -- true
  expect_error 2 'no roles'
  call node exec --ioprio high -- true
  expect_error 2 --ioprio "'high'" be:0
}

binds_without_rights() {
  call as_nobody node exec --bind all --ioprio idle -- sh -c 'ionice'
  expect_status 0
  [[ $out == *idle* ]] || die 'the command has another I/O priority'
  call as_nobody node exec --memory-limit 64MiB -- true
  [ "$status" = 77 ] || die 'a memory limit without rights is not unsupported'
  [ "$(wc -l <"$tmp/.err")" = 1 ] || die 'the error is not one line'
  call as_nobody node exec --ioprio rt:0 -- true
  expect_error 77 rt:0 CAP_SYS_NICE
}

# As root, where there is a memory controller.
can_limit() {
  $root || return 1
  call node exec --memory-limit 64MiB -- true
  [ "$status" != 77 ] || return 1
  expect_status 0
}

limits_and_takes_back() {
  local before
  before=$(cat /proc/self/cgroup)
  "$blksweep" node exec --memory-limit 64MiB -- cat /proc/self/cgroup >"$tmp/.out" 2>"$tmp/.err"
  grep -q ':.*/blksweep-[0-9]*$' "$tmp/.out" || die 'the command was not in a group of its own'
  grep -q 'memory_limit_bytes: asked 67108864, got 67108864' "$tmp/.err" || die 'asked and got are not told'
  [ "$(cat /proc/self/cgroup)" = "$before" ] || die 'the caller was moved'
  [ -z "$(groups_of "$(sed -n 's|.*/blksweep-\([0-9]*\)$|\1|p' "$tmp/.out" | sed -n 1p)")" ] || die 'groups are left'
  # What it leaves running ends with its group.
  # shellcheck disable=SC2016
  call node exec --memory-limit 64MiB -- sh -c 'sleep 1000 >/dev/null 2>&1 & echo $!'
  expect_status 0
  ended "$out" || die 'a process that the command left behind lives on in a limit that is gone'
  [ "$(wc -l </proc/swaps)" -gt 1 ] || is_killed_beyond_its_limit
  status=0
  BLKSWEEP=$blksweep "$(dirname "$0")/../../scripts/limit-memory.sh" 64MiB sh -c 'exit 5' 2>/dev/null || status=$?
  expect_status 5
  status=0
  BLKSWEEP=$blksweep "$(dirname "$0")/../../scripts/limit-memory.sh" 64MiB 2>/dev/null || status=$?
  expect_status 2
  call node exec --memory-limit 64MiB -- "$tmp/no-such-command"
  expect_error 127 no-such-command
}

# Where there is swap the limit of memory alone makes it slow.
is_killed_beyond_its_limit() {
  status=0
  "$blksweep" node exec --memory-limit 16MiB -- /usr/bin/python3 -c 'print(len(bytearray(64 << 20)))' \
    >"$tmp/.out" 2>"$tmp/.err" || status=$?
  expect_status 137
  grep -q 'OOM killer' "$tmp/.err" || die 'it is not told why the command was killed'
}

passes_signals_on() {
  local name
  for name in INT TERM HUP; do
    # shellcheck disable=SC2016
    start --memory-limit 64MiB -- sh -c "trap 'exit 42' $name; $forever" "$tmp/pid"
    kill -s "$name" "$exec_pid"
    join
    expect_status 42
    [ -z "$(groups_of "$exec_pid")" ] || die "groups are left after SIG$name"
    start --memory-limit 64MiB -- sh -c "$forever" "$tmp/pid"
    kill -s "$name" "$exec_pid"
    join
    expect_status $((128 + $(kill -l "$name")))
    ended "$command_pid" || die "the command outlives SIG$name"
    [ -z "$(groups_of "$exec_pid")" ] || die "groups are left after SIG$name"
  done
}

# killed_is_seen : its command dies with it, and doctor names what it left
killed_is_seen() {
  local tries
  start --memory-limit 64MiB -- sh -c "$forever" "$tmp/pid"
  kill -KILL "$exec_pid"
  join
  expect_status 137
  for ((tries = 0; tries < 250; ++tries)); do
    ! ended "$command_pid" || break
    sleep 0.02
  done
  ended "$command_pid" || die 'the command outlives node exec'
  call doctor "$tmp"
  [[ $out == *"left behind"*"of pid $exec_pid"*"which is dead"*'blksweep node restore'* ]]
}

# The rest waits for node restore, which may be another test's: then once more.
survives_its_own_end() {
  local tries
  for tries in {1..5}; do
    ! killed_is_seen || break
    [ -z "$(groups_of "$exec_pid")" ] || die 'doctor does not see them'
  done
  [ -n "$(groups_of "$exec_pid")" ] || die "the groups went without anybody, $tries times"
  call node restore
  expect_status 0
  [ -z "$(groups_of "$exec_pid")" ] || die 'node restore leaves groups'
  call doctor "$tmp"
  [[ $out != *"of pid $exec_pid"* ]] || die 'doctor sees what was put back'
}

ends_as_its_command
ends_though_its_parent_ignores_children
refuses_bad_input
binds_without_rights
if can_limit; then
  limits_and_takes_back
  passes_signals_on
  survives_its_own_end
fi
