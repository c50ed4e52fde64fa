#!/usr/bin/env bash
# An ordinary user can make data, scan, plan, run and report; what needs root says so in one line.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

work=$tmp/work
mkdir -p "$work"
chmod 755 "$tmp"
[ "$(id -u)" != 0 ] || chown "$nobody:$nobody" "$work"

call as_nobody dataset make "$work/data" --count 50 --size 4KiB
expect_status 0
call as_nobody catalog "$work/data" -o "$work/data.cat"
expect_status 0
call as_nobody plan "$work/data.cat" --order lba
expect_status 0

# Without --probe the run does what it can.
call as_nobody run --catalog "$work/data.cat" --buffered --cache keep --verify --db "$work/a.db" --json
expect_status 0
/usr/bin/python3 - "$tmp/.out" <<'PY'
import json, sys
(run,) = json.load(open(sys.argv[1]))["runs"]
assert run["samples"] == 50, run["samples"]
assert run["missing_samples"] == 0 and run["wrong_samples"] == 0
PY

# Opening by handle goes past the folders' rights: root's alone.
call as_nobody run --catalog "$work/data.cat" --buffered --cache keep --no-probe --open-by handle
expect_error 77 "--open-by handle is refused for $work/data/" CAP_DAC_READ_SEARCH '--open-by path'

# A cold cache needs root: it says so; a warm run is never sold as a cold one.
call as_nobody run --catalog "$work/data.cat" --buffered --cache cold --no-probe --json
expect_status 0 3 77
if [ "$status" = 77 ]; then
  expect_error 77 root
else
  /usr/bin/python3 - "$tmp/.out" <<'PY'
import json, sys
(run,) = json.load(open(sys.argv[1]))["runs"]
assert run["warnings"], "a cold run without root carries no warning"
PY
fi

# The block device is root's: merge=device reads files instead and counts them, or says why not.
call as_nobody run --catalog "$work/data.cat" --merge device --order lba --cache keep --no-probe --verify --json
expect_status 0 3 77
if [ "$status" = 77 ]; then
  expect_error 77
fi
