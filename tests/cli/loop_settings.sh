#!/usr/bin/env bash
# A loop device keeps its queue settings for whoever gets it next: what scripts change on theirs is put
# back when they give it up.
# Side by side: on loop devices of its own.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

[ "$(id -u)" = 0 ] || skip 'needs root for a loop device'
at_exit loopfs_remove

settings() { grep -sH . "$1"/* "$1"/iosched/* || true; }

loopfs_make "$tmp/disk.img" "$tmp/disk" 64MiB ext4 || skip "$loopfs_reason"
queue=/sys/block/${loopfs_device#/dev/}/queue
before=$(settings "$queue")
echo mq-deadline >"$queue/scheduler"
echo 77 >"$queue/iosched/read_expire"
echo 100 >"$queue/nr_requests"
echo 192 >"$queue/read_ahead_kb"
[ "$(settings "$queue")" != "$before" ] || die 'nothing was changed'
loopfs_remove
after=$(settings "$queue")
[ "$after" = "$before" ] || die "left behind: $(diff <(echo "$before") <(echo "$after"))"
echo 'loop settings: put back'
