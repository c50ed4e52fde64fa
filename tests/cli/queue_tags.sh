#!/usr/bin/env bash
# Without a scheduler nr_requests bounds the disk's own tags, and once a scheduler is there no file tells how
# many they are: what is given back with its scheduler has all of them, as the requests in flight show.
# Side by side: a loop device of its own; waits most of the time.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

[ "$(id -u)" = 0 ] || skip 'needs root to set a queue'
command -v fio >/dev/null || skip 'needs fio'
truncate -s 64M "$tmp/image"
loop=$(losetup --direct-io=on --find --show "$tmp/image") || skip 'no loop device'
queue=/sys/block/${loop#/dev/}/queue
whole() { # as it was, tags too
  echo none >"$queue/scheduler"
  loopfs_all_tags "$queue"
  echo "$scheduler" >"$queue/scheduler"
}
scheduler=$(sed 's/.*\[\(.*\)\].*/\1/' "$queue/scheduler")
at_exit "losetup --detach $loop"
at_exit whole
grep -q mq-deadline "$queue/scheduler" || skip 'no mq-deadline'
whole
echo mq-deadline >"$queue/scheduler"

many_in_flight() { # WHEN
  fio --name=many --filename="$loop" --direct=1 --ioengine=libaio --iodepth=32 --rw=randread --bs=4k --time_based \
    --runtime=20 --size=60M >"$tmp/fio" 2>&1 &
  local reader=$!
  end_at_exit "$reader"
  until [ "$(inflight "$loop")" -gt 4 ]; do
    kill -0 "$reader" 2>/dev/null || die "$1: never more than 4 in flight: $(tail -n 3 "$tmp/fio")"
  done
  kill "$reader"
  wait "$reader" || true
}

many_in_flight 'as found'
call node exec --device "$loop" --scheduler none --nr-requests 4 -- true
expect_status 0
[ "$(cat "$queue/nr_requests")" -gt 4 ] || die 'nr_requests was not given back'
many_in_flight 'given back'

"$blksweep" --quiet node exec --device "$loop" --scheduler none --nr-requests 4 -- sleep 60 &
holder=$!
end_at_exit "$holder"
until [ "$(cat "$queue/nr_requests")" = 4 ]; do
  kill -0 "$holder" 2>/dev/null || die 'node exec ended'
  sleep 0.05
done
kill -KILL "$holder"
wait "$holder" || true
call node restore
expect_status 0
many_in_flight 'restored after a kill'
echo "all tags come back with the scheduler"
