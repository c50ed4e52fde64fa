#!/usr/bin/env bash
# Is the verdict of a replay right? RUNS replays each of a healthy one, of one on a device that is
# slower than the trace, and of one whose tool gets too little of the CPU (a hog beside it on its
# only CPU, or a cgroup's quota, in turn), interleaved. A replay is healthy on a machine that runs: beside it the CPUs
# are watched from above everything else (tests/support/pauses.py), and where one was held for more than a quarter of what
# makes a replay unfaithful, the replay does not count and is made again. How many those were is printed.
#
#   RUNS=100
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/../cli/helpers.bash"

[ "$(id -u)" = 0 ] || skip 'needs root for emulated disks'
runs=${RUNS:-100}
quota_group=
hog=
stop_all() {
  [ -z "$hog" ] || kill "$hog" 2>/dev/null || true
  "$blksweep" -q disk stop "verdict-fast-$$" || true
  "$blksweep" -q disk stop "verdict-slow-$$" || true
  [ -z "$quota_group" ] || rmdir "$quota_group" || true
}
at_exit stop_all

disk() { # disk NAME MODEL [OPTION...]: prints its device
  local name=$1
  shift
  "$blksweep" disk start "$name" --model "$@" --size 1GiB --json >"$tmp/disk.json"
  "$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["device"])' "$tmp/disk.json"
}
fast=$(disk "verdict-fast-$$" none)
slow=$(disk "verdict-slow-$$" hdd-7200 --speedup 10) # about 2,000 reads a second
"$python" - "$tmp/poisson.csv" <<'PY'
import random, sys
random.seed(3)
time = 0.0
with open(sys.argv[1], "w") as out:
    print("time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags,volume", file=out)
    while time < 1e9:  # so that a pause of the machine of a few ms is not 1 % of it
        print(f"{time:.0f},read,{random.randrange(262144) * 4096},4096,,,,,,v", file=out)
        time += random.expovariate(1 / 200e3)  # 5,000 a second
PY
call trace import "$tmp/poisson.csv" -o "$tmp/poisson.trace"
expect_status 0

make_quota_group() { # a quarter of a CPU
  if [ -d /sys/fs/cgroup/cpu ]; then
    quota_group=/sys/fs/cgroup/cpu/verdicts-$$
    mkdir "$quota_group" && echo 25000 >"$quota_group/cpu.cfs_quota_us"
  else
    quota_group=/sys/fs/cgroup/verdicts-$$
    echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
    mkdir "$quota_group" && echo '25000 100000' >"$quota_group/cpu.max"
  fi
}
make_quota_group || skip 'needs a cgroup with a quota of CPU time'

pauses=$(realpath "$(dirname "$0")/../support/pauses.py")
held_bound=2500000 # of a second: 1 % of it makes a replay unfaithful
held=0             # ns that a CPU was held by nobody of this machine during the last replay
watched() { # watched COMMAND...
  local watcher
  "$python" "$pauses" >"$tmp/held" &
  watcher=$!
  sleep 0.1
  "$@"
  kill "$watcher"
  wait "$watcher"
  held=$(cat "$tmp/held")
}

# verdict DEVICE [COMMAND...]: of a replay; tells more beside it
verdict() {
  local device=$1 status=0
  shift
  "$@" "$blksweep" -q replay "$tmp/poisson.trace" --device "$device" --json >"$tmp/replay.json" ||
    status=$?
  [ "$status" = 0 ] || [ "$status" = 3 ] || die "replay ended with $status"
  "$python" - "$tmp/replay.json" <<'PY'
import json, sys
c = json.load(open(sys.argv[1]))["runs"][0]["certificate"]
print(c["verdict"], "tool p99", c["tool_lateness_p99_ns"], "device p99", c["device_lateness_p99_ns"],
      "stalled", c["stalled_ns"])
PY
}
in_quota() { (echo "$BASHPID" >"$quota_group/cgroup.procs" && exec "$@"); }
beside_hog() {
  taskset -c 0 sh -c 'while :; do :; done' &
  hog=$!
  taskset -c 0 "$@" || local status=$?
  kill "$hog"
  wait "$hog" 2>/dev/null || true
  hog=
  return "${status:-0}"
}
disturbed=0
declare -A wrong=([faithful]=0 [held_back]=0 [unfaithful]=0)
expect_verdict() { # expect_verdict WANTED DEVICE [COMMAND...]
  local wanted=$1 got
  shift
  if [ "$wanted" = unfaithful ]; then
    verdict "$@" >"$tmp/verdict"
  else
    watched verdict "$@" >"$tmp/verdict"
  fi
  if [ "$held" -gt "$held_bound" ]; then
    disturbed=$((disturbed + 1))
    held=0
    [ "$disturbed" -le "$runs" ] || die 'this machine is held too often to say anything of it'
    expect_verdict "$wanted" "$@"
    return
  fi
  got=$(cat "$tmp/verdict")
  if [ "${got%% *}" != "$wanted" ]; then
    wrong[$wanted]=$((wrong[$wanted] + 1))
    echo "wanted $wanted: $got"
  fi
}
starved=(in_quota beside_hog)
for ((run = 0; run < runs; run++)); do
  expect_verdict faithful "$fast"
  expect_verdict held_back "$slow"
  expect_verdict unfaithful "$fast" "${starved[run % 2]}"
done
echo "replay verdicts: of $runs each, wrong: healthy ${wrong[faithful]}," \
  "slow device ${wrong[held_back]}, starved ${wrong[unfaithful]}; made again because a CPU was held: $disturbed"
[ $((wrong[faithful] + wrong[held_back] + wrong[unfaithful])) = 0 ] || die 'verdicts are wrong'
