#!/usr/bin/env bash
# A setting of the disk's queue, or a limit of the cgroup, that is another one for some time and then
# again what it was: both ends are alike, and yet no figure is of one. A run, a replay and a map say so;
# what was set before them, or is merely read, is nothing.
# Side by side: on a disk of its own, whose settings alone it changes.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

own_disk 200M
data=$loopfs_mount/data
call dataset make "$data" --count 400 --size 16KiB
expect_status 0
sync -f "$data"
name=${loopfs_device#/dev/}
queue=/sys/block/$name/queue
run=(run --data "$data" --order lba --cache cold --no-probe --batch 20 --window 1MiB --consumer emulated --compute 40ms --json)
reading() { until_read "$loopfs_device" 2048 "$pid"; } # more than the blocks that a scan reads: data
# there_and_back FILE VALUE : another one for a moment
there_and_back() {
  local old
  old=$(sed 's/.*\[\(.*\)\].*/\1/' "$1")
  echo "$2" >"$1"
  echo "$old" >"$1"
}
reason() { "$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["runs"][0]["incomplete_reason"])' "$tmp/.out"; }

# --- a run ---------------------------------------------------------------------------------------------
before=$(cat "$queue/read_ahead_kb")
echo "$before" >"$queue/read_ahead_kb" # before it: nothing
background "${run[@]}" --no-ceiling
reading
cat "$queue"/* >/dev/null 2>&1 || true
ended
expect_status 0
for setting in nr_requests:32 nomerges:2 max_sectors_kb:64 ../bdi/read_ahead_kb:4; do
  [ -e "$queue/${setting%:*}" ] || continue
  background "${run[@]}" --no-ceiling
  reading
  there_and_back "$queue/${setting%:*}" "${setting#*:}"
  ended
  expect_status 3
  file=${setting%:*}
  [[ $(reason) == *"settings were written meanwhile"*"$name ${file##*/}"* ]] || die "$setting for a while, and nothing is said"
done
echo 'a run: said'

# --- a limit of its own, and of the group that it runs in -------------------------------------------------------
limit=memory.max root=/sys/fs/cgroup
[ ! -d /sys/fs/cgroup/memory ] || limit=memory.limit_in_bytes root=/sys/fs/cgroup/memory
"$blksweep" -q node exec --memory-limit 1GiB -- true 2>/dev/null && limits=yes || limits=
if [ -n "$limits" ]; then
  background "${run[@]}" --no-ceiling --memory-limit 512MiB
  reading
  group=$(find "$root" -type d -name "blksweep*$pid*" | head -n 1)
  there_and_back "$group/$limit" 64M
  ended
  expect_status 3
  [[ $(reason) == *"settings were written meanwhile"*"cgroup $limit"* ]] || die 'another limit for a while, and nothing is said'
  echo 'a limit: said'
else
  echo 'a limit: none can be set here'
fi
if mkdir "$root/blksweep-back-$$" 2>/dev/null && [ -w "$root/blksweep-back-$$/$limit" ]; then
  at_exit "rmdir '$root/blksweep-back-$$'"
  (
    echo "$BASHPID" >"$root/blksweep-back-$$/cgroup.procs"
    exec "$blksweep" --quiet "${run[@]}" --no-ceiling
  ) >"$tmp/.out" 2>"$tmp/.err" &
  pid=$!
  reading
  there_and_back "$root/blksweep-back-$$/$limit" 256M
  ended
  expect_status 3
  [[ $(reason) == *"cgroup $limit"* ]] || die 'another limit of the group for a while, and nothing is said'
  echo 'a limit of its group: said'
fi

# --- a replay, a map ---------------------------------------------------------------------------------------
paced_trace 100 65536 "$tmp/reads.trace"
background replay "$tmp/reads.trace" --device "$loopfs_device" --json
reading
there_and_back "$queue/nr_requests" 32
ended
expect_status 3
[[ $out == *"settings were written meanwhile"*"$name nr_requests"* ]] || die 'a replay on two queues says nothing'
background map "$loopfs_device" --seconds 2 --parts size --unwritten --json
reading
there_and_back "$queue/nr_requests" 32
ended
expect_status 0
[[ $out == *"settings were written meanwhile"*"map it anew"* ]] || die 'a map of two queues says nothing'
echo 'a replay, a map: said'
