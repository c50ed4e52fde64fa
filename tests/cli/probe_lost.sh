#!/usr/bin/env bash
# A request that the probe's table has no place for is a lost event, and the run that it was lost in is incomplete: here
# the scheduler is given many more requests in the middle of a run than it had when the table was made. Where among its
# tags the kernel begins is chance, so it is made anew until the run has ended.
# Side by side: on a loop device of its own, whose settings alone it changes.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

own_disk 128MiB
disk=/sys/block/${loopfs_device#/dev/}
# scheduler_with REQUESTS : anew, with so many
scheduler_with() {
  echo none >"$disk/queue/scheduler"
  echo mq-deadline >"$disk/queue/scheduler" || skip 'no mq-deadline'
  echo "$1" >"$disk/queue/nr_requests"
}
reads() { awk '{ print $1 }' "$disk/stat"; }

scheduler_with 4
make_data "$tmp/disk/data" 3000
make_catalog "$tmp/disk/data" "$tmp/data.cat"
before=$(reads)
"$blksweep" --quiet run --catalog "$tmp/data.cat" --order random --merge none --compute 10ms --batch 20 --epochs 2 \
  --no-ceiling --no-check --db "$tmp/lost.db" --json >"$tmp/lost.json" 2>"$tmp/err" </dev/null &
pid=$!
end_at_exit "$pid"
for ((i = 0; $(reads) < before + 100; i++)); do
  [ "$i" -lt 600 ] || die 'no reads in a minute'
  kill -0 "$pid" || die "ended before it had read: $(cat "$tmp/err")"
  sleep 0.1
done
rounds=0
while kill -0 "$pid" 2>/dev/null; do
  scheduler_with 2048
  rounds=$((rounds + 1))
  sleep 0.1
done
status=0
wait "$pid" || status=$?
[ "$status" = 3 ] || die "exit $status: $(cat "$tmp/err")"
reason=$(sqlite3 "$tmp/lost.db" 'SELECT incomplete_reason FROM run')
[[ $reason == *'probe lost '*' events'* ]] || die "after $rounds schedulers: $reason"
echo "lost: $reason"
