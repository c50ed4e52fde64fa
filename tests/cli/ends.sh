#!/usr/bin/env bash
# However a sweep ends, the queue that it borrowed is as before, or is named with the way to give it back.
# tests/soak/ends.sh does it 300 times and more.
# Side by side: a disk and a /run of its own; what is put back is looked at.
set -euo pipefail
# shellcheck source=tests/cli/own_run.bash
. "$(dirname "$0")/own_run.bash"
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

own_disk 128MiB
scheduler=/sys/block/${loopfs_device#/dev/}/queue/scheduler
before=$(<"$scheduler")
make_data "$tmp/disk/data" 200
make_catalog "$tmp/disk/data" "$tmp/data.cat"
at_exit "umount '$tmp/small' 2>/dev/null"
"$python" "$(dirname "$refuse_call")/ends.py" "$blksweep" "$tmp/data.cat" "${loopfs_device#/dev/}" "$tmp" \
  "${ENDS:-18}" "${SEED:-1}" || die 'an end left something behind'

# --- too few descriptors, one after the other: a journal that is left is one of this boot -----------------
for descriptors in {4..40}; do
  (ulimit -n "$descriptors" && exec "$blksweep" --quiet run --catalog "$tmp/data.cat" --scheduler mq-deadline --buffered \
    --cache keep --no-probe --no-ceiling) >/dev/null 2>&1 || true
  ! grep -qs '"boot":""' /run/blksweep/journal/* || die "$descriptors descriptors: a journal that no boot has"
done
call node restore
expect_status 0
now=$(<"$scheduler")
[ "$now" = "$before" ] || die "the scheduler is not put back: $now, was $before"
echo 'few descriptors: put back'

# --- what the answer's reader sees ----------------------------------------------------------------------
status=0
"$blksweep" --quiet report --help >/dev/full 2>"$tmp/.err" || status=$?
call run --catalog "$tmp/data.cat" --buffered --cache keep --repeats 40 --no-probe --no-ceiling --db "$tmp/r.db"
expect_status 0
status=0
"$blksweep" --quiet report "$tmp/r.db" --json >/dev/full 2>"$tmp/.err" || status=$?
err=$(cat "$tmp/.err")
[ "$status" = 1 ] || die 'a full disk under the answer is exit 1'
[[ $err == *'standard output: No space left'* ]] || die 'and is said'
status=0
"$blksweep" --quiet probe "$loopfs_device" --interval 100ms 2>"$tmp/.err" | head -1 >/dev/null || status=${PIPESTATUS[0]}
[ "$status" != 0 ] || die 'a view whose reader has ended goes on, or ends as if all was well'
