#!/usr/bin/env bash
# What disturbs a measurement from outside is named with it: a frozen cgroup, a stop beside fio, a
# ceiling, a map or a replay; a writer on the disk; metadata that left memory in a warm run of direct reads.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

own_disk 300M
data=$loopfs_mount/data
call dataset make "$data" --count 400 --size 16KiB
expect_status 0
head -c 40M /dev/urandom >"$loopfs_mount/filler"
sync -f "$data"
name=${loopfs_device#/dev/}
# 6.25 MiB at 4 MB/s: a run of more than a second.
slow=(run --data "$data" --order random --cache cold --no-probe --bandwidth-limit 4MB/s --json)
reads() { awk '{print $1}' "/sys/block/$name/stat"; }
reading() { # until the disk has answered 100 reads more
  local begin i
  begin=$(reads)
  for ((i = 0; i < 400; i++)); do
    [ "$(($(reads) - begin))" -lt 100 ] || return 0
    sleep 0.02
  done
  die 'nothing is read'
}
fio_of() { # PID : the child that reads (another one only says its version)
  local begin child i last=
  for ((i = 0; i < 1000; i++)); do
    child=$(pgrep -P "$1" -x fio || true)
    [ "$child" = "$last" ] || begin=$(reads)
    last=$child
    if [ -n "$child" ] && [ "$(($(reads) - begin))" -ge 50 ]; then
      echo "$child"
      return 0
    fi
    sleep 0.02
  done
  die 'no fio'
}
value() { "$python" -c 'import json, sys; run = json.load(open(sys.argv[1]))["runs"][0]; print(eval(sys.argv[2]))' "$tmp/.out" "$1"; }

# --- a frozen cgroup ---------------------------------------------------------------------------------
frozen=
frozen_for=0
end_group() {
  [ -z "$frozen" ] || {
    thaw
    rmdir "$frozen"
  } 2>/dev/null || true
}
at_exit end_group
if [ -d /sys/fs/cgroup/freezer ] && mkdir "/sys/fs/cgroup/freezer/blksweep-test-$$" 2>/dev/null; then
  frozen=/sys/fs/cgroup/freezer/blksweep-test-$$
  freeze() { echo FROZEN >"$frozen/freezer.state"; }
  thaw() { echo THAWED >"$frozen/freezer.state"; }
elif [ -e /sys/fs/cgroup/cgroup.controllers ] && mkdir "/sys/fs/cgroup/blksweep-test-$$" 2>/dev/null; then
  frozen=/sys/fs/cgroup/blksweep-test-$$
  freeze() { echo 1 >"$frozen/cgroup.freeze"; }
  thaw() { echo 0 >"$frozen/cgroup.freeze"; }
fi
if [ -n "$frozen" ]; then
  background run --data "$data" --order random --cache cold --no-probe --no-ceiling --json \
    --batch 20 --window 1MiB --consumer emulated --compute 60ms
  echo "$pid" >"$frozen/cgroup.procs"
  reading
  freeze
  sleep 0.6
  thaw
  ended
  expect_status 3
  [[ $(value 'run["incomplete_reason"]') == *'stood still for'* ]] || die "a frozen run: $(value 'run["incomplete_reason"]')"
  background run --data "$data" --order random --cache cold --no-probe --no-ceiling --json \
    --batch 20 --window 1MiB --consumer emulated --compute 60ms
  echo "$pid" >"$frozen/cgroup.procs"
  reading
  while kill -0 "$pid" 2>/dev/null && ((++frozen_for <= 6)); do # each too short to be seen alone
    freeze
    sleep 0.15
    thaw
    sleep 0.05
  done
  ended
  expect_status 3
  [[ $(value 'run["incomplete_reason"]') == *'stood still for'* ]] || die "a run frozen again and again: $(value 'run["incomplete_reason"]')"
  echo 'a frozen run: incomplete'
else
  echo 'a frozen run: no freezer here'
fi

# --- a stop beside fio, in a ceiling and in a map ----------------------------------------------------------
background "${slow[@]}" --fio-twin --no-ceiling --seed 3
fio=$(fio_of "$pid")
kill -STOP "$fio" "$pid"
sleep 0.5
kill -CONT "$fio" "$pid"
ended
case $(value '(run["fio_ratio"], run["fio"]["ratio_reason"], run["incomplete_reason"])') in
  "(None, 'this process was stopped"* | *"'our run is incomplete'"*) ;;
  *) die "a twin that was stopped has a ratio: $(value '(run["fio_ratio"], run["fio"]["ratio_reason"])')" ;;
esac
background map "$loopfs_device" --seconds 2 --parts size --json
reading
kill -STOP "$pid"
sleep 0.3
kill -CONT "$pid"
ended
expect_status 0
[[ $out == *'was stopped'* ]] || die 'a map that was stopped says nothing'
# Of reads far apart: it sleeps between them, and is not late for the next one.
paced_trace 300 4096 "$tmp/apart.trace"
background replay "$tmp/apart.trace" --device "$loopfs_device" --json
reading
kill -STOP "$pid"
sleep 0.01
kill -CONT "$pid"
ended
expect_status 3
[[ $(value 'run["certificate"]["reasons"]') == *'was stopped'* ]] || die 'a replay that was stopped says nothing'
echo 'stops: fine'

# --- a queue that changes under a map --------------------------------------------------------------------------
nomerges=/sys/block/${loopfs_device#/dev/}/queue/nomerges
for change in 0 1; do
  before=$(cat "$nomerges")
  background map "$loopfs_device" --seconds 2 --parts size --json
  reading
  [ "$change" = 0 ] || echo $((2 - before)) >"$nomerges"
  ended
  echo "$before" >"$nomerges"
  expect_status 0
  said=0
  [[ $out != *'nomerges'*'the disk was changed meanwhile'* ]] || said=1
  [ "$said" = "$change" ] || die "a map of a queue that changed ($change): $out"
done
echo 'a map of two queues: told'

# --- a writer beside the run and its twin --------------------------------------------------------------------
"$python" - "$loopfs_mount/written" "$tmp/enough" <<'PY' &
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_DIRECT)
block = mmap.mmap(-1, 65536)
at = 0
while not os.path.exists(sys.argv[2]):
    os.pwrite(fd, block, at)
    at = (at + 65536) % (32 << 20)
PY
writer=$!
"$blksweep" "${slow[@]}" --fio-twin --no-ceiling >"$tmp/.out" 2>"$tmp/.err" || true
touch "$tmp/enough"
wait "$writer"
[[ $(value 'run["warnings"]') == *'were written to'* ]] || die "a writer beside the run: $(value 'run["warnings"]')"
[[ $(value '(run["fio_ratio"], run["fio"]["ratio_reason"])') == "(None, "*'were written to'* ]] || die 'a writer beside fio'
echo 'a writer: named'

# --- metadata that leaves memory in a warm run of direct reads -------------------------------------------------
call dataset make "$loopfs_mount/many" --count 6000 --size 4KiB
sync -f "$data"
warm=(run --data "$loopfs_mount/many" --order random --cache warm --no-probe --no-ceiling --json)
undisturbed() {
  call "${warm[@]}"
  expect_status 0
}
in_three_tries undisturbed
background "${warm[@]}" --batch 50 --window 1MiB --consumer emulated --compute 10ms
reading
for _ in 1 2 3; do
  echo 3 >/proc/sys/vm/drop_caches
  sleep 0.25
done
ended
expect_status 3
[[ $(value 'run["incomplete_reason"]') == *'metadata had left memory'* ]] || die "$(value 'run["incomplete_reason"]')"
# A cold run of direct reads reads its metadata again, which is no less than it should read.
cold() {
  call "${warm[@]/warm/cold}"
  expect_status 0
  [[ $(value 'run["warnings"]') != *'dropped the caches'* ]] || return 1
}
in_three_tries cold
background "${warm[@]/warm/cold}" --batch 50 --window 1MiB --consumer emulated --compute 10ms
reading
for _ in 1 2 3; do
  sleep 0.25
  echo 3 >/proc/sys/vm/drop_caches
done
ended
[[ $(value 'run["warnings"]') == *'dropped the caches'* ]] || die "$(value 'run["warnings"]')"
echo 'warm metadata: judged'
