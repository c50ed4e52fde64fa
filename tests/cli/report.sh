#!/usr/bin/env bash
# blksweep report as a user calls it, on a database of made-up runs.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail

blksweep=${BLKSWEEP:-build/blksweep}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=/usr/bin/python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

# Expects exit status $1 and a single line on stderr that contains $2; the rest is the command.
refuses() {
  local status=0
  local wanted=$1 text=$2
  shift 2
  "$@" >"$work/out" 2>"$work/err" || status=$?
  [ "$status" = "$wanted" ] || fail "$*: status $status, not $wanted: $(cat "$work/err")"
  grep -qF -- "$text" "$work/err" || fail "$*: no '$text' in: $(cat "$work/err")"
  [ "$(wc -l <"$work/err")" = 1 ] || fail "$*: more than one line: $(cat "$work/err")"
}

"$python" "$here/../support/demo_db.py" "$work/results.db" --incomplete 1
db=$work/results.db

# The table: one row per cell, the baseline named, what is left out said.
"$blksweep" report "$db" >"$work/table"
[ "$(grep -c 'reservoir' "$work/table")" = 3 ] || fail "three reservoir cells: $(cat "$work/table")"
grep -q '^random .*baseline' "$work/table" || fail 'random is the baseline'
grep -q 'left out of random: 12 probe events lost' "$work/table" || fail 'says what is left out'
grep -q '3 pairs: no interval and no verdict from fewer than 5' "$work/table" || fail 'says what three repeats can bear'
! grep -qE 'faster|slower|not shown|95 % interval' "$work/table" || fail "three repeats bear no verdict: $(cat "$work/table")"

# Each column that is shown is explained, in the words of the documentation.
"$blksweep" report "$db" --explain >"$work/explained"
"$python" - "$work/table" "$work/explained" "$here/../../docs/measurement.md" <<'PY' || fail 'a column is not explained'
import re, sys

table, explained, page = (open(name).read() for name in sys.argv[1:4])
rows = re.findall(r"^\| (.+?) \| (.+) \|$", page.split("## Columns of a table")[1].split("\n## ")[0], re.M)[2:]
heading = table.splitlines()[0]
assert explained.startswith(table)
lines = explained[len(table) :].strip().splitlines()
assert len(lines) >= 6, lines
for line in lines:
    name, meaning = line[:20].rstrip(), line[21:]
    assert name in heading, name
    assert (name, meaning) in rows, (name, meaning)
PY

# Filters.
"$blksweep" report "$db" --cells order=lba,merge=device >"$work/table"
[ "$(sed '1,2d; /^[^ ]* pairs*:\|^ours . fio\|^fio made\|^ceiling/,$d' "$work/table" | grep -c .)" = 1 ] || fail "one cell: $(cat "$work/table")"
grep -qx 'ratio: to random, not shown here' "$work/table" || fail "to what the ratio is: $(cat "$work/table")"
"$blksweep" report "$db" --cells merge=device,order=lba --baseline merge=device,merge=none >"$work/table"
grep -q '^lba .* baseline' "$work/table" || fail "the baseline that is shown: $(cat "$work/table")"
! grep -q 'not shown here' "$work/table" || fail "there is no ratio, or to what is shown: $(cat "$work/table")"
several='--baseline: 4 cells match (lba; chunked + reservoir + window 2%; '
refuses 2 "$several" "$blksweep" report "$db" --baseline merge=device
refuses 2 'name one, such as merge=device,order=lba' "$blksweep" report "$db" --baseline merge=device
refuses 2 "$several" "$blksweep" report "$db" --baseline merge=device --cells order=random
refuses 2 "$several" "$blksweep" paper "$db" --baseline merge=device -o "$work/paper"
"$blksweep" report "$db" --baseline merge=device --cells order=lba >"$work/table"
grep -q '^lba + device .* baseline' "$work/table" || fail "the one that is shown: $(cat "$work/table")"
refuses 2 'no cell matches' "$blksweep" report "$db" --cells order=elsewhere
refuses 2 'there are order=' "$blksweep" report "$db" --cells order=elsewhere
refuses 2 'settings are ' "$blksweep" report "$db" --cells odrer=lba
refuses 2 "'order'" "$blksweep" report "$db" --cells order

# JSON: one document on stdout, nothing else.
"$blksweep" report "$db" --json | "$python" -c '
import json, sys
d = json.load(sys.stdin)
assert len(d["cells"]) == 8 and len(d["runs"]) == 25, (len(d["cells"]), len(d["runs"]))
assert d["host"]["hostname"] == "node1"
assert sum(r["incomplete"] for r in d["runs"]) == 1
'

# CSV without figures.
"$blksweep" report "$db" -o "$work/csv" --no-figures >"$work/table"
[ "$(wc -l <"$work/csv/cells.csv")" = 9 ] || fail 'cells.csv'
[ "$(wc -l <"$work/csv/runs.csv")" = 26 ] || fail 'runs.csv'
[ ! -e "$work/csv/report.html" ] || fail 'no figures were asked for'

# Two disks in one report: the disk is the first setting, each has its own baseline.
"$python" "$here/../support/demo_db.py" "$work/two.db" --disks 2 --cells 4 --predict
two=$work/two.db
"$blksweep" report "$two" --experiment all >"$work/table"
[ "$(grep -c '^loop0 (loop device on ext4) + ' "$work/table")" = 4 ] || fail "first disk: $(cat "$work/table")"
[ "$(grep -c '^hdd-7200 (emulated) + ' "$work/table")" = 4 ] || fail "second disk: $(cat "$work/table")"
[ "$(grep -c ' baseline ' "$work/table")" = 2 ] || fail "a baseline for each disk: $(cat "$work/table")"
"$blksweep" report "$two" --experiment all --baseline order=lba,merge=none >"$work/table"
[ "$(grep -c ' baseline ' "$work/table")" = 2 ] || fail "one of each disk is named: $(cat "$work/table")"
"$blksweep" report "$two" --experiment 1,2 --json | "$python" -c '
import json, sys
d = json.load(sys.stdin)
assert [e["disk"] for e in d["experiments"]] == ["loop0 (loop device on ext4)", "hdd-7200 (emulated)"]
assert d["experiments"][1]["host"]["device_model"] == "emulated hdd-7200 x1"
by_disk = {}
for c in d["cells"]:
    by_disk.setdefault(c["cell"]["disk"], []).append(c)
for cells in by_disk.values():
    assert [c["baseline"] for c in cells] == [True, False, False, False]
    assert all(c["prediction_epoch_ns"] for c in cells)
fast, slow = by_disk.values()
assert slow[2]["ratio"]["value"] > 5 * fast[2]["ratio"]["value"]
'
# Other cells of the same data on the same disk stand in one table; those of other data do not.
cp "$two" "$work/data.db"
"$python" - "$work/data.db" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.executescript("""
  UPDATE experiment SET device = 'loop0', device_model = ''; UPDATE layer_fact SET disk = 'loop0';
  UPDATE cell_setting SET value = '2' || value WHERE name = 'order'
    AND cell_id IN (SELECT cell_id FROM cell WHERE experiment_id = 2);
  UPDATE session SET data_root = '/small';""")
PY
"$blksweep" report "$work/data.db" --experiment all >"$work/table"
! grep -q '#' "$work/table" || fail "one disk, one data set: $(cat "$work/table")"
grep -q '^ceiling.*sequential.*median of 6 rounds' "$work/table" || fail "rounds of both: $(cat "$work/table")"
for other in "session SET data_root = '/large'" "experiment SET facts_hash = 'other'" "run SET layout = run_id"; do
  cp "$work/data.db" "$work/other.db"
  "$python" -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE " + sys.argv[2] + ("" if "run" in sys.argv[2] else " WHERE experiment_id = 2"))
db.commit()' "$work/other.db" "$other"
  "$blksweep" report "$work/other.db" --experiment all >"$work/table"
  [ "$(grep -c '^loop0 #[12] + ' "$work/table")" = 8 ] || fail "$other: two of all: $(cat "$work/table")"
done

"$blksweep" report "$two" >"$work/table" 2>/dev/null
[ "$(grep -c '^loop0\|(emulated)' "$work/table")" = 0 ] || fail 'one experiment names no disk'
refuses 2 "'9' is not in" "$blksweep" report "$two" --experiment 1,9
refuses 2 "'x' is not in" "$blksweep" report "$two" --experiment x

# Bad databases: one line, the object and the way out.
refuses 1 "open $work/none.db: No such file or directory" "$blksweep" report "$work/none.db"
[ ! -e "$work/none.db" ] || fail 'reading created a file'
head -c 4096 /dev/urandom >"$work/noise.db"
refuses 1 'noise.db is not a blksweep database: name a new file' "$blksweep" report "$work/noise.db"

# A report is replaced by the next one; a file of such a name that is none of ours stays.
mkdir "$work/theirs"
for name in cells.csv runs.csv report.html; do
  echo mine >"$work/theirs/$name"
  refuses 1 "$work/theirs/$name is of no report of blksweep" "$blksweep" report "$db" -o "$work/theirs"
  [ "$(cat "$work/theirs/$name")" = mine ] || fail "$name was written over"
  rm "$work/theirs/$name"
done

# Without a Python that draws: tables, one warning, status 3.
refuses 3 'python3-matplotlib' env BLKSWEEP_PYTHON=/bin/false "$blksweep" report "$db" -o "$work/plain"
[ -e "$work/plain/cells.csv" ] || fail 'tables are written without figures'
# One that is killed, for want of memory perhaps: when it is tried, and when it draws.
cat >"$work/killed" <<'SH'
#!/bin/sh
[ "$1" = -I ] && [ ! -e "${0%/*}/at_once" ] || kill -s KILL $$
SH
chmod +x "$work/killed"
refuses 1 'report.py: ended by signal 9 (Killed): too little memory?' \
  env BLKSWEEP_PYTHON="$work/killed" "$blksweep" report "$db" -o "$work/plain"
touch "$work/at_once"
refuses 3 "$work/killed: ended by signal 9 (Killed): too little memory?" \
  env BLKSWEEP_PYTHON="$work/killed" "$blksweep" report "$db" -o "$work/plain"
refuses 3 'BLKSWEEP_SCRIPTS' env BLKSWEEP_SCRIPTS="$work" "$blksweep" report "$db" -o "$work/plain"

if ! "$python" -c 'import numpy, matplotlib' 2>/dev/null; then
  echo 'SKIP: figures need python3-matplotlib; the tables passed'
  exit 77
fi

"$blksweep" report "$db" -o "$work/report" >/dev/null 2>"$work/err"
for name in throughput quality window first_batch depth sawtooth order sizes; do
  for kind in pdf svg png txt; do
    [ -s "$work/report/figures/$name.$kind" ] || fail "figures/$name.$kind is missing"
  done
done
grep -q 'revision: ' "$work/report/figures/throughput.txt" || fail 'the caption says the revision'
page=$work/report/report.html
[ "$(grep -c '<svg ' "$page")" = 8 ] || fail 'the page holds every figure'
# Namespaces are names; anything that would be fetched is a src, a url() or a link.
if grep -nE '(src|href)="?https?:|url\("?https?:|<link|<script|@import' "$page"; then
  fail 'the page would fetch something'
fi
duplicates=$(grep -oE '\bid="[^"]+"' "$page" | sort | uniq -d)
[ -z "$duplicates" ] || fail "ids twice in the page: $duplicates"

# Two disks: what is common once, what has a scale of its own for each.
"$blksweep" report "$two" --experiment all -o "$work/both" >/dev/null 2>"$work/err"
for name in disks prediction throughput-1-loop0-loop-device-on-ext4 throughput-2-hdd-7200-emulated; do
  [ -s "$work/both/figures/$name.svg" ] || fail "figures/$name.svg is missing"
  grep -q 'emulated hdd-7200 x1\|loop0' "$work/both/figures/$name.txt" || fail "$name does not name its disk"
done
grep -q 'Node: hdd-7200 (emulated)' "$work/both/report.html" || fail 'the page has the facts of each disk'
duplicates=$(grep -oE '\bid="[^"]+"' "$work/both/report.html" | sort | uniq -d)
[ -z "$duplicates" ] || fail "ids twice in the page of two disks: $duplicates"

# One repeat, one cell, no probe, no fio: fewer figures, no failure.
"$python" "$here/../support/demo_db.py" "$work/small.db" --repeats 1 --cells 1 --no-probe --no-fio
"$blksweep" report "$work/small.db" -o "$work/small" >"$work/table" 2>"$work/err"
! grep -v '^ceiling' "$work/table" | grep -E '[0-9]\.\.[0-9]' >/dev/null || fail 'one repeat has no interval and no range'
[ -s "$work/small/figures/throughput.pdf" ] || fail 'throughput of one run'
[ ! -e "$work/small/figures/depth.pdf" ] || fail 'no depth without a probe'
grep -q 'no complete run has probe data' "$work/small/report.html" || fail 'the page says what is left out'
