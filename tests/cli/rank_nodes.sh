#!/usr/bin/env bash
# Ranks on two nodes, which are network namespaces with host names of their own: the node is told, clocks are
# aligned within the error that is told, and a cable that is pulled ends all of them, by name.
# Side by side: its network is its own, and its times are not looked at.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

[ "$(id -u)" = 0 ] || skip 'needs root for network namespaces'
# shellcheck source=tests/cli/mpi_helpers.bash
. "$(dirname "$0")/mpi_helpers.bash"

make_data "$tmp/data" 200
make_catalog "$tmp/data" "$tmp/data.cat"
make_nodes

on_nodes --data "$tmp/data" --json --verify --shuffle full --window 100% --batch 8
expect_status 0
call plan "$tmp/data.cat" --order lba --merge none --shuffle full --window 100% --json
expect_status 0
"$python" - "$tmp/answer" "$tmp/.out" <<'PY' || die 'four ranks on two nodes'
import json, sys
doc, plan = (json.load(open(path)) for path in sys.argv[1:])
rows = doc["rows"]
assert doc["complete"] and doc["joined"]["nodes"] == 2, doc
assert doc["emission_hash"] == plan["plans"][0]["emission_hash"]
assert [(r["node"], r["host"], r["on_node"]) for r in rows] == [(0, "one", 0), (0, "one", 1), (1, "two", 0), (1, "two", 1)], rows
# Both have the same clock, which they do not know: what was measured is the error.
assert all(r["clock_error_ns"] == 0 for r in rows[:2]) and all(abs(r["clock_offset_ns"]) <= r["clock_error_ns"] for r in rows[2:]), rows
PY
echo 'two nodes: one order, clocks within their error'

# Once they are there, and a while into their 30 s of reading.
there() { ip netns pids "$two" | xargs -r ps -o comm= -p | grep -c '^blksweep-mpi' || true; }
pull_when_they_read() {
  for _ in {1..300}; do
    [ "$(there)" -lt 2 ] || break
    sleep 0.1
  done
  sleep 3
  echo "$SECONDS" >"$tmp/pulled"
  pull_cable
}
pull_when_they_read &
on_nodes --data "$tmp/data" --json --epochs 300 --compute 2ms --batch 4 --barrier batch
[ "$status" != 0 ] || die 'a node was lost, and nobody noticed'
late=$((SECONDS - $(cat "$tmp/pulled")))
[ "$late" -le 12 ] || die "still there $late s after the cable was pulled"
"$python" - "$tmp/answer" <<'PY' || die "the cable: $(cat "$tmp/answer")"
import json, sys
doc = json.load(open(sys.argv[1]))
assert not doc["complete"] and doc["fault"]["rank"] in (2, 3) and doc["fault"]["host"] == "two", doc
assert all(r["samples"] > 0 for r in doc["rows"]), doc
PY
grep -q '^blksweep-mpi: rank [23] (node two)' <<<"$err" || die 'the lost rank is named'
wait
echo 'a node that is gone: named, and all ended'
