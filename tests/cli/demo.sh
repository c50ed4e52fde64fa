#!/usr/bin/env bash
# scripts/demo.sh from data to report with few files, and that it leaves no mount, loop or image.
# Side by side: on disks of its own; what it leaves is looked at, not its times.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

root=$(cd "$(dirname "$0")/../.." && pwd)
export BLKSWEEP=$blksweep DEMO_COUNT=300 DEMO_HDD_COUNT=60 DEMO_OPTIONS='--repeats 1' TMPDIR=$tmp

loops() { losetup --list --noheadings --output BACK-FILE 2>/dev/null | grep -c "^$tmp" || true; }

status=0
"$root/scripts/demo.sh" "$tmp/demo" >"$tmp/.out" 2>"$tmp/.err" </dev/null || status=$?
out=$(cat "$tmp/.out") err=$(tail -n 20 "$tmp/.err")
expect_status 0
[ -s "$tmp/demo/report.html" ] || die "no report.html"
[ -n "$(find "$tmp/demo/figures" -name '*.svg' 2>/dev/null)" ] || die "no figures"
# A loop device comes with the settings of whoever had it last: runs set their scheduler and store it. Two of the controls
# read no such device.
if [ "$(id -u)" = 0 ]; then
  runs=$(sqlite3 "$tmp/demo/results.db" "SELECT count(*) FROM run WHERE cell_id NOT IN
    (SELECT cell_id FROM cell_setting WHERE name = 'control' AND value IN ('ram', 'no-op'))")
  set_none=$(sqlite3 "$tmp/demo/results.db" "SELECT count(*) FROM node_setting WHERE name = 'scheduler' AND asked = 'none'")
  ((runs > 0 && set_none == runs)) || die "$set_none of $runs runs store the scheduler that they set"
fi
[ "$(loops)" = 0 ] || die "a loop device is left"
! grep -q "$tmp" /proc/self/mounts || die "a mount is left"
! ls /run/blksweep/disks/demo-* >/dev/null 2>&1 || die "an emulated disk is left"
[ -z "$(find "$tmp" -name '*.img')" ] || die "an image is left"
