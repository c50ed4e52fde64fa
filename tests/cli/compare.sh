#!/usr/bin/env bash
# report A.db B.db: what differs, the cells in both with unpaired ratios, those in one alone.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

cd "$tmp"
make_data data 60
common=(--data data --repeats 5 --no-probe --no-ceiling)
call run "${common[@]}" --order random,lba,path --depth 8 --db a.db
expect_status 0
call run "${common[@]}" --order random,lba,inode --depth 2 --db b.db
expect_status 0
# Known times, so that known ratios must come out: B takes half of A's time, its lba 40 % of it.
"$python" - <<'PY'
import sqlite3
for name, of in (("a.db", {"random": 8e8, "lba": 4e8}), ("b.db", {"random": 4e8, "lba": 1.6e8})):
    db = sqlite3.connect(name)
    for order, ns in of.items():
        for run, repeat in db.execute("SELECT run_id, repeat FROM run JOIN cell_setting USING (cell_id) WHERE name = 'order' "
                                      "AND value = ?", [order]).fetchall():
            db.execute("UPDATE run SET epoch_ns = ? WHERE run_id = ?", [int(ns * (1 + 0.01 * repeat)), run])
    db.execute("UPDATE experiment SET kernel = kernel || '-" + name[0] + "'")
    db.commit()
PY
call report a.db b.db --json
expect_status 0
printf '%s' "$out" >found.json
"$python" - <<'PY' || die 'not what the databases hold'
import json
d = json.load(open("found.json"))
differ = {f["name"]: (f["a"], f["b"]) for f in d["facts"] if f["differs"]}
assert set(differ) <= {"kernel", "command", "setting depth", "setting order"}, differ
assert differ["setting depth"] == ("8", "2") and differ["kernel"][0].endswith("-a")
same = {f["name"] for f in d["facts"] if not f["differs"]}
assert {"hostname", "scheduler", "data", "data layout", "data read by a run", "git_revision", "setting cache"} <= same
cells = {c["label"]: c for c in d["cells"]}
assert set(cells) == {"random", "lba"} and d["only_a"] == ["path"] and d["only_b"] == ["inode"]
assert abs(cells["random"]["ratio"]["value"] - 2) < 1e-6 and abs(cells["lba"]["ratio"]["value"] - 2.5) < 1e-6
for c in cells.values():
    r = c["ratio"]
    assert r["n_a"] == r["n_b"] == 5 == c["a"]["runs"] and r["low"] < r["value"] < r["high"] and r["shown"]
assert cells["random"]["baseline"] and cells["random"]["relative_ratio"] is None
# The rounds cancel: 2.5 / 2, without noise.
r = cells["lba"]["relative_ratio"]
assert abs(r["value"] - 1.25) < 1e-6 and r["low"] > 1.24 and r["shown"]
assert cells["lba"]["a"]["cell"]["depth"] == 8 and cells["lba"]["b"]["cell"]["depth"] == 2
PY
call report a.db b.db
expect_status 0
[[ $out == *'setting depth'*8*2*'2.000 ['*'only in A: path'*'only in B: inode'*'not in its interval'* ]] || die 'the table'
[[ $out != *'runs are in both'* ]] || die 'runs of one database alone'
# 73.5 and 367.6 samples/s in the median, by the nearest number as in any other table.
[[ $out == *'random  5 '*' 74 '*'lba '*' 368 '* ]] || die 'speeds are not rounded'
[[ $out == *'... random,lba,path '*'... random,lba,inode '* ]] || die 'commands that begin alike look equal'
call report a.db a.db
expect_status 0
[[ $out == *'facts are the same'*'1.000 ['*'not shown'*'15 runs are in both databases'* ]] || die 'a database and itself'
call report a.db b.db --baseline order=lba --json
expect_status 0
[[ $(printf '%s' "$out" | "$python" -c 'import json, sys
print([c["label"] for c in json.load(sys.stdin)["cells"] if c["baseline"]])') == "['lba']" ]] || die '--baseline'

# Rounds that went on until intervals were narrow met a variance that came out low: intervals are wider for it.
cp a.db stopped.db
"$python" -c '
import sqlite3
db = sqlite3.connect("stopped.db")
db.execute("INSERT INTO stopping (session_id, precision, pilot, repeats_max, rounds, intervals, reached, widest, reason) "
           "SELECT max(session_id), 0.02, 10, 100, 5, 2, 2, \"\", \"precision\" FROM session")
db.commit()'
for side in a stopped; do
  call report "$side.db" b.db --json
  expect_status 0
  printf '%s' "$out" >"$side.json"
done
"$python" - <<'PY' || die 'a side that was stopped by its widths'
import json, math
plain, stopped = (json.load(open(f"{name}.json")) for name in ("a", "stopped"))
assert (plain["error_rate"], stopped["error_rate"]) == (0.05, 0.03)
for of, to in zip(stopped["cells"], plain["cells"]):
    wider = [math.log(c["ratio"]["high"] / c["ratio"]["low"]) for c in (of, to)]
    assert wider[0] > 1.1 * wider[1] and of["ratio"]["p"] == to["ratio"]["p"], wider
PY
call report stopped.db b.db
[[ $out == *'--repeats auto'*'97 % covers 95 %'* ]] || die 'nothing is said of the stop'

# Runs that are left out are said, and too few have no interval.
"$python" -c '
import sqlite3
db = sqlite3.connect("b.db")
db.execute("UPDATE run SET incomplete = 1, incomplete_reason = \"test\" WHERE repeat = 4")
db.commit()'
call report a.db b.db
[[ $out == *'no interval from fewer than 5'*'incomplete runs are left out'* ]] || die 'few runs'

call report a.db b.db -o page
expect_status 0
for name in compare.html compare.json figures/compare.svg figures/compare.pdf; do
  [ -s "page/$name" ] || die "no $name"
done
for text in 'What differs' 'setting depth' 'Cells in one alone' 'no pairs' '<svg'; do
  grep -q "$text" page/compare.html || die "the page does not say $text"
done
# The first beside each other one; a page is of two.
call report a.db b.db
first=$out
call report a.db a.db
second=$out
call report a.db b.db a.db
expect_status 0
[ "$out" = "$first"$'\n\n\n'"$second" ] || die 'three databases are not two comparisons'
call report a.db b.db a.db --json
expect_status 0
[ "$(printf '%s' "$out" | "$python" -c 'import json, sys
print([(c["a"], c["b"]) for c in json.load(sys.stdin)["comparisons"]])')" = "[('a.db', 'b.db'), ('a.db', 'a.db')]" ] ||
  die 'the document of three databases'
call report a.db b.db a.db -o three
expect_error 2 'report a.db b.db -o DIR'
[ ! -e three ] || die 'refused, and left a folder'
call paper a.db b.db -o three
expect_error 2 'a folder of each' 'blkprefix{NAME:}' 'blksweep report a.db b.db'
[ ! -e three ] || die 'refused, and left a folder'
call report a.db b.db none.db
expect_error 1 'none.db'
# Sides that differ by the order itself: a row is not named as if both had read in A's.
for order in random lba; do
  call run "${common[@]}" --order "$order" --db "$order.db"
  expect_status 0
done
call report random.db lba.db
expect_status 0
[[ $out == *'random | lba'* ]] || die 'the orders of a row'
call report a.db none.db
expect_error 1 'none.db'
call report a.db b.db --cells order=lba
expect_error 2 '--cells'
call report a.db b.db --baseline order=path
expect_error 2 '--baseline'
call report a.db b.db --baseline merge=none
expect_error 2 '--baseline: 2 cells match (random; lba): name one, such as merge=none,order=random'
call report a.db b.db --other-experiment 7
expect_error 2 "'7'" 'b.db'
