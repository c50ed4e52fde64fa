#!/usr/bin/env bash
# Every system call that can fail fails once, at its first, second and last use, in each of the commands of
# tests/support/fault_commands.py, with each plausible error. Nothing may crash, hang, stay behind or report success with
# another result (tests/support/sweep_faults.py says how it is judged).
#
#   CASES=run-db,disk   only these          SECONDS_EACH=600   of each case, most; the next start goes on
#   OBJECTS=1           also at the first use on each file      SEED=1   the order of faults
#   BUILD=build-asan    a program with sanitizers: leaks and wrong accesses are findings; what they call for themselves is left out
#   RESULTS=FILE        one line a fault [$BUILD/faults/results.jsonl]; what is in there is not repeated
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/../cli/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/../cli/loop_helpers.bash"

support=$(realpath "$(dirname "$0")/../support")
own_disk 64M
results=$(realpath -m "${RESULTS:-${BUILD:-build}/faults/results.jsonl}")
mkdir -p "$(dirname "$results")"
gcc -O1 -o "$tmp/fail_call" "$support/fail_call.c"
status=0
"$tmp/fail_call" "$tmp/log" "$blksweep" count "$blksweep" --version >/dev/null || status=$?
[ "$status" != 99 ] || skip 'seccomp hands no calls to another process here'

data=$loopfs_mount/data
call dataset make "$data" --count 40 --size 12KiB
expect_status 0
sync -f "$loopfs_mount"
make_catalog "$data" "$tmp/data.cat"
call run --catalog "$tmp/data.cat" --no-probe --order random,lba --repeats 2 --db "$tmp/results.db" --json
expect_status 0
mapfile -t files < <(find "$data" -type f | sort)
call trace record --files --data "$data" -o "$tmp/files.trace" -- cat "${files[@]:0:8}"
expect_status 0
background trace record --device "$loopfs_device" --seconds 2 -o "$tmp/block.trace"
while kill -0 "$pid" 2>/dev/null; do
  dd if="$loopfs_device" of=/dev/null bs=16k count=40 iflag=direct status=none
done
ended
expect_status 0
call trace export "$tmp/block.trace" --format csv -o "$tmp/block.csv"
expect_status 0
"$python" - "$tmp" "$blksweep" "$data" "$loopfs_device" "${files[0]}" >"$tmp/fixture.json" <<'PY'
import json, os, sys
tmp, program, data, loop, one = sys.argv[1:]
print(json.dumps({"work": tmp + "/work", "program": program, "fail_call": tmp + "/fail_call", "data": data, "cat": tmp + "/data.cat",
                  "loop": loop, "db": tmp + "/results.db", "trace": tmp + "/block.trace", "csv": tmp + "/block.csv",
                  "files": tmp + "/files.trace", "one": one, "name": f"faults-{os.getpid()}"}))
PY
mkdir "$tmp/work"
without=
! grep -q __asan_init "$blksweep" || without=mmap,mremap,mprotect,madvise,pipe2
begin=$(wc -l 2>/dev/null <"$results" || echo 0)
"$python" "$support/sweep_faults.py" "$tmp/fixture.json" "$results" --seed "${SEED:-1}" --seconds "${SECONDS_EACH:-1000000}" \
  ${CASES:+--only "$CASES"} ${OBJECTS:+--objects} ${without:+--without "$without"}
echo "$(($(wc -l <"$results") - begin)) faults in this session"
