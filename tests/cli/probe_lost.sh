#!/usr/bin/env bash
# A request that the probe's table has no place for is a lost event, and the run that it was lost in is incomplete: here
# the scheduler is given many more requests in the middle of a run than it had when the table was made.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

own_disk 128MiB
queue=/sys/block/${loopfs_device#/dev/}/queue
echo mq-deadline >"$queue/scheduler" || skip 'no mq-deadline'
echo 4 >"$queue/nr_requests"
make_data "$tmp/disk/data" 3000
make_catalog "$tmp/disk/data" "$tmp/data.cat"

"$blksweep" --quiet run --catalog "$tmp/data.cat" --order random --merge none --depth 256 --compute 10ms --batch 20 --epochs 2 \
  --no-ceiling --no-check --db "$tmp/lost.db" --json >"$tmp/lost.json" 2>"$tmp/err" </dev/null &
pid=$!
at_exit "kill $pid 2>/dev/null"
sleep 1
echo 2048 >"$queue/nr_requests"
status=0
wait "$pid" || status=$?
[ "$status" = 3 ] || die "exit $status: $(cat "$tmp/err")"
reason=$(sqlite3 "$tmp/lost.db" 'SELECT incomplete_reason FROM run')
[[ $reason == *'probe lost '*' events'* ]] || die "reason: $reason"
echo "lost: $reason"
