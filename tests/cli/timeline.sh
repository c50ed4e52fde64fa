#!/usr/bin/env bash
# blksweep timeline on a run that was really made: every batch in every lane, in a document that
# follows the format; and what it says when RUN is not there.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

db=$tmp/results.db
plain=(--buffered --cache keep --no-probe)

# check_trace FILE BATCHES LANE...: what the format asks of a document, and what we promise of ours.
check_trace() {
  "$python" - "$@" <<'PY'
import collections
import decimal
import json
import sys

path, batches, *lanes = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    document = json.load(file, parse_float=decimal.Decimal)
events = document["traceEvents"]
required = {"X": {"name", "cat", "ts", "dur", "pid", "tid", "args"}, "C": {"name", "ts", "pid", "args"},
            "M": {"name", "pid", "tid", "args"}}
for event in events:
    missing = required[event["ph"]] - event.keys()
    assert not missing, (missing, event)
    assert event.get("ts", 0) >= 0 and event.get("dur", 0) >= 0, event
named = {e["tid"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
per_thread, per_lane, counters = (collections.defaultdict(list) for _ in range(3))
for event in events:
    if event["ph"] == "X":
        assert event["tid"] in named, event
        per_thread[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        per_lane[event["cat"]].append(event)
    elif event["ph"] == "C":
        counters[event["name"]].append(event["ts"])
for thread, spans in per_thread.items():
    spans.sort()
    for (_, end), (begin, _) in zip(spans, spans[1:]):
        assert end <= begin, f"thread {thread}: {end} is after {begin}"
for lane in lanes:
    numbers = sorted(e["args"]["batch"] for e in per_lane[lane])
    assert numbers == list(range(int(batches))), f"{lane}: {len(numbers)} batches"
assert set(per_lane) == {"epoch", *lanes}, sorted(per_lane)
epoch, = per_lane["epoch"]
assert epoch["dur"] * 1000 == document["otherData"]["epoch_ns"], epoch
assert max(e["ts"] + e["dur"] for e in per_lane[lanes[-1]]) <= epoch["dur"]
for name, times in counters.items():
    assert times == sorted(times), name
assert counters["window fill"], sorted(counters)
PY
}

make_data "$tmp/data" 300
call run --data "$tmp/data" "${plain[@]}" --order path,random --batch 16 --copy host --compute 100us --db "$db"
expect_status 0
call run --data "$tmp/data" "${plain[@]}" --order path --batch 100 --db "$tmp/bare.db"
expect_status 0

# All lanes; to a file, to stdout, by run and by CELL/REPEAT: the same document.
call timeline 1 --db "$db" -o "$tmp/trace.json"
expect_status 0
[ -z "$out$err" ] || die "a quiet timeline says something"
check_trace "$tmp/trace.json" 19 read window copy staged compute || die "the document of run 1"
call timeline 1 --db "$db" -o -
expect_status 0
cmp -s "$tmp/.out" "$tmp/trace.json" || die "stdout and file differ"
cell=$(sqlite3 "$db" 'SELECT cell_id FROM run WHERE run_id = 1')
call timeline "$cell/0" --db "$db" -o -
expect_status 0
cmp -s "$tmp/.out" "$tmp/trace.json" || die "CELL/REPEAT names another run"

# The times are those of the database, to the nanosecond.
sqlite3 "$db" "SELECT printf('%d.%03d', (s.end_ns - r.begin_ns) / 1000, (s.end_ns - r.begin_ns) % 1000)
  FROM batch_stage s JOIN run r USING (run_id) WHERE run_id = 1 AND stage = 'read'" >"$tmp/stored"
while read -r micros; do
  grep -q "\"cat\":\"window\",\"ph\":\"X\",\"ts\":$micros," "$tmp/trace.json" || die "no window begins at $micros"
done <"$tmp/stored"

# Without copy and consumer there are two lanes.
call timeline 1 --db "$tmp/bare.db" -o "$tmp/bare.json"
expect_status 0
check_trace "$tmp/bare.json" 3 read window || die "the document of a bare run"

# Which runs there are.
call timeline --db "$db"
expect_status 0
[ "$(grep -cE ' [12]/0 +(path|random) ' "$tmp/.out")" = 2 ] || die "the list of runs"
call timeline 9 --db "$db" -o "$tmp/none.json"
expect_error 2 "'9' is not in" "1 " "repeat 0"
call timeline 1/7 --db "$db" -o "$tmp/none.json"
expect_error 2 "'1/7' is not in"
call timeline 1 --db "$db"
expect_error 2 "-o trace.json"
call timeline 1 --db "$tmp/none.db" -o "$tmp/none.json"
expect_error 1 "none.db: No such file or directory"
call timeline 1 --db "$db" -o "$tmp/none/trace.json"
expect_error 1 "$tmp/none/trace.json: No such file or directory"
[ ! -e "$tmp/none.json" ] || die "an error leaves a file"
cp "$db" "$tmp/kept.db"
call timeline 1 --db "$db" -o "$db"
expect_error 2 "would take the place of $db"
cmp "$db" "$tmp/kept.db" || die "the database was written over"
