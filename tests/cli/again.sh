#!/usr/bin/env bash
# The same sweep on the same database: what is stored is the answer, and nothing is measured twice.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

make_data "$tmp/data" 40
sweep=(run --data "$tmp/data" --order "random,inode" --buffered --cache keep --no-probe --no-ceiling --db "$tmp/results.db")
call "${sweep[@]}" --repeats 2 --json
expect_status 0
expect 'two cells, twice' "len(runs) == 4"
first=$out
call "${sweep[@]}" --repeats 2 --json
expect_status 0
expect 'the stored runs are the answer' "len(runs) == 4"
"$python" -c '
import json, sys
was, now = ({(r["cell"]["order"], r["repeat"]): r for r in json.loads(t)["runs"]} for t in sys.argv[1:])
assert all(now[k]["epoch_ns"] == was[k]["epoch_ns"] and now[k]["emission_hash"] == was[k]["emission_hash"] for k in was)
' "$first" "$out" || die 'other runs than those that were measured'
"$blksweep" "${sweep[@]}" --repeats 2 >"$tmp/.out" 2>"$tmp/.err" || die 'the same again fails'
grep -q 'holds all 4 runs of this sweep: nothing was measured; --repeats 3' "$tmp/.err" || die 'how to get more is not said'
grep -q 'report .* --explain' "$tmp/.err" || die 'nobody says where the columns are explained'
call "${sweep[@]}" --repeats 3 --json
expect_status 0
expect 'a further repeat measures that one' "[r['repeat'] for r in runs] == [2, 2]"
# However the folder is written.
for folder in "$tmp/data/" "$tmp/./data" data; do
  (cd "$tmp" && "$blksweep" "${sweep[@]/#$tmp\/data/$folder}" --repeats 3 >.out 2>.err) || die "$folder fails"
  grep -q 'holds all 6 runs of this sweep: nothing was measured' "$tmp/.err" || die "$folder is another data set: $(cat "$tmp/.err")"
done

# The same files divided into as many other samples are other data: nothing of them is there yet.
of_records() {
  "$blksweep" catalog "$tmp/records" --records "$1" -o "$tmp/records.cat" >/dev/null 2>&1 || die "records of $1"
  call run --catalog "$tmp/records.cat" --order random --buffered --no-probe --no-ceiling --db "$tmp/records.db" --repeats "$2" --json
  expect_status 0
}
"$blksweep" dataset make "$tmp/records" --count 20 --size 100000B >/dev/null
of_records 30000B 1
of_records 26000B 2
expect 'both rounds read the samples of now' "[r['repeat'] for r in runs] == [0, 1] and all(r['samples'] == 80 for r in runs)"
"$blksweep" report "$tmp/records.db" --experiment all >"$tmp/.out" || die 'no report of both'
grep -q '#2 + random *2 ' "$tmp/.out" || die "two divisions of the same files are one cell: $(cat "$tmp/.out")"
