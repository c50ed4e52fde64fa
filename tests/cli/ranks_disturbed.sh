#!/usr/bin/env bash
# Ranks beside what disturbs them: a queue that is another one in the end, or was for a while, and CPUs that are taken away make
# the epoch incomplete; somebody else who reads or writes on the disk is a warning.
# Side by side: on a disk of its own, whose settings alone it changes.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"
# shellcheck source=tests/cli/mpi_helpers.bash
. "$(dirname "$0")/mpi_helpers.bash"

own_disk 200M
data=$loopfs_mount/data
call dataset make "$data" --count 600 --size 16KiB
expect_status 0
head -c 30M /dev/urandom >"$loopfs_mount/other"
sync -f "$data"
name=${loopfs_device#/dev/}
queue=/sys/block/$name/queue
cpu=$(taskset --cpu-list --pid $$ | sed "s/.*: //; s/[-,].*//")

# beside FUNCTION : two ranks, and the function when they have read a megabyte
beside() {
  launch 2 --json --data "$data" --batch 20 --compute 60ms --barrier batch &
  ranks=$!
  until_read "$loopfs_device" 2000 "$ranks"
  "$1"
  wait "$ranks" || true
  out=$(cat "$tmp/.out") err=$(cat "$tmp/.err")
}
nothing() { cat "$queue/nr_requests" >/dev/null; }
other_queue() { echo 2 >"$queue/nomerges"; }
there_and_back() {
  echo 2 >"$queue/nomerges"
  echo 0 >"$queue/nomerges"
}
fewer_cpus() { # with no process for each that it looks at: an epoch is a second
  local process name
  for process in /proc/[0-9]*; do
    { read -r name <"$process/comm"; } 2>/dev/null || continue
    [ "$name" != 'rank 1 reads' ] || ! grep -qaF "$data" "$process/cmdline" ||
      taskset --all-tasks --cpu-list --pid "$cpu" "${process#/proc/}" >/dev/null
  done
}
reader() { dd if="$loopfs_mount/other" of=/dev/null bs=1M iflag=direct status=none; }
writer() { dd if=/dev/zero of="$loopfs_mount/new" bs=1M count=20 oflag=direct status=none; }

echo 0 >"$queue/nomerges"
beside nothing
holds 'alone' 'doc["complete"] and doc["warnings"] == []'
beside other_queue
echo 0 >"$queue/nomerges"
holds 'another queue' 'not doc["complete"] and doc["missing_samples"] == 0 and "nomerges 0, now 2" in doc["fault"]["what"]'
beside there_and_back
holds 'another queue for a while' 'not doc["complete"] and "settings were written meanwhile" in doc["fault"]["what"]'
if [ "$(nproc)" -gt 1 ]; then
  beside fewer_cpus
  holds 'fewer CPUs' 'not doc["complete"] and doc["fault"]["rank"] == 1 and "CPUs" in doc["fault"]["what"]'
fi
echo 'conditions: held'
beside reader
holds 'a reader' 'doc["complete"] and "others read" in doc["warnings"][0]'
beside writer
holds 'a writer' 'doc["complete"] and "were written to" in doc["warnings"][0]'
[[ $err == *'warning: rank 0 on '*'were written to'* ]] || die "a writer is named: $err"
echo 'others on the disk: named'
