#!/usr/bin/env bash
# Epochs of ranks are kept (blksweep-mpi --db) and reported: repeats with 1, 2 and 4 ranks scale, one that was cut off is there,
# incomplete and with what each rank had read, and a database that cannot be written is said before anything is read.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

# shellcheck source=tests/cli/mpi_helpers.bash
. "$(dirname "$0")/mpi_helpers.bash"

call dataset make "$tmp/data" --count 203 --size 9KiB
expect_status 0
db=$tmp/ranks.db
# Who else used this machine's disk meanwhile is another test's matter.
alone() { sqlite3 "$1" "UPDATE ranks SET document = json_set(document, '\$.warnings', json('[]'))"; }
for n in 1 2 4; do
  launch "$n" --json --data "$tmp/data" --split batch --batch 8 --db "$db"
  expect_status 0
  [ "$(sqlite3 "$db" "SELECT document FROM ranks ORDER BY ranks_id DESC LIMIT 1")" = "$out" ] || die 'kept is what is told'
done
[ "$(sqlite3 "$db" 'SELECT count(DISTINCT key), sum(complete), sum(samples) FROM ranks')" = '1|3|609' ] || die 'one key for all'
[ "$(sqlite3 "$db" 'SELECT group_concat(ranks), max(nodes) FROM ranks')" = '1,2,4|1' ] || die 'ranks'
[ "$(sqlite3 "$db" "SELECT count(*), sum(samples), min(state) FROM rank_entry WHERE ranks_id = 3")" = '4|203|done' ] || die 'rows'
launch 2 --json --data "$tmp/data" --split copy --db "$db"
expect_status 0
[ "$(sqlite3 "$db" 'SELECT count(DISTINCT key) FROM ranks')" = 2 ] || die 'other settings are another key'

# A batch has not been had before it was used: what few batches of many ranks compute counts as that of many of one.
for n in 1 2; do
  launch "$n" --json --data "$tmp/data" --batch 102 --compute 20ms
  expect_status 0
  "$python" -c 'import json, sys
doc = json.loads(sys.argv[1])
sys.exit(not all(r["last_batch_ns"] >= 20_000_000 * r["batches"] for r in doc["rows"]) or doc["joined"]["batch_ns"] < 20_000_000)' "$out" ||
    die "used for 20 ms each: $out"
done

# --- cut off: what was read is kept -----------------------------------------------------------------------
# Seed 1: while they read.
"$python" "$(dirname "$0")/../support/kill_ranks.py" --times 1 --ranks 2 --seed 1 --db "$db" "$mpi" "$tmp/data" || die 'a rank that was killed'
[ "$(sqlite3 "$db" 'SELECT complete, fault <> "", ranks FROM ranks ORDER BY ranks_id DESC LIMIT 1')" = '0|1|2' ] ||
  die "a lost rank is kept: $(sqlite3 "$db" 'SELECT complete, fault, ranks FROM ranks ORDER BY ranks_id DESC LIMIT 1')"

# Where rank 0's keeper is gone the others tell their rows, and keep none: they have no database of the whole.
had=$(sqlite3 "$db" 'SELECT count(*) FROM ranks')
"$python" "$(dirname "$0")/../support/kill_ranks.py" --times 1 --ranks 2 --seed 1 --keepers --victim 0 --db "$db" "$mpi" "$tmp/data" || die "rank 0's keeper"
[ "$(sqlite3 "$db" 'SELECT count(*) FROM ranks')" = "$had" ] || die 'a row of a part is kept as one of the whole'

# --- the report -----------------------------------------------------------------------------------------
alone "$db"
call report "$db"
expect_status 0
[[ $out == *efficiency* && $out == *'incomplete: rank '* ]] || die 'the report has a row for each'
[[ $out == *'set apart by'* && $out == *'batch '* ]] || die "rows that differ by what has no column say by what: $out"
call report "$db" --json
expect_status 0
"$python" - "$tmp/.out" <<'PY' || die 'efficiency'
import json, sys
ranks = json.load(open(sys.argv[1]))["ranks"]
assert [r["ranks"] for r in ranks[:3]] == [1, 2, 4] and len(ranks) == 5
one = ranks[0]["joined"]["samples_per_s"]
for r in ranks[:3]:
    assert abs(r["efficiency"] - r["joined"]["samples_per_s"] / (r["ranks"] * one)) < 1e-9, r
assert ranks[3]["efficiency"] is None and ranks[4]["efficiency"] is None and not ranks[4]["complete"]
PY
# Against one rank that read as much from disks, on the same machine, by the same program, of the same data and without a
# quota only.
for change in 'storage_bytes = 0' "hostname = 'other'" "kernel = 'other'" "git_revision = 'other'" \
  "document = json_set(document, '$.warnings', json('[\"a quota\"]'))"; do
  sqlite3 "$db" ".backup $tmp/other.db"
  sqlite3 "$tmp/other.db" "UPDATE ranks SET storage_bytes = bytes; UPDATE ranks SET $change WHERE ranks = 4"
  call report "$tmp/other.db" --json
  "$python" -c 'import json, sys
ranks = json.load(open(sys.argv[1]))["ranks"]
sys.exit([r["efficiency"] is None for r in ranks[:3]] != [False, False, True])' "$tmp/.out" || die "not comparable: $change"
done
# The same words for data on another disk, from another folder: not comparable. Small files take a page each: a disk that
# read all of them again read more than bytes, and one that read as much as bytes had some from caches.
mkdir "$tmp/small" && mkdir "$tmp/small/elsewhere"
call dataset make "$tmp/small/data" --count 40 --size 1KiB
cp -a "$tmp/small/data" "$tmp/small/elsewhere/data"
for at in . elsewhere; do
  (cd "$tmp/small/$at" && launch 1 --data data --db "$tmp/places.db" && expect_status 0)
done
[ "$(sqlite3 "$tmp/places.db" 'SELECT count(DISTINCT key) FROM ranks')" = 2 ] || die 'data elsewhere are other data'
for n in 1 2; do
  launch "$n" --data "$tmp/small/data" --db "$tmp/small.db"
  expect_status 0
done
[ "$(sqlite3 "$tmp/small.db" "SELECT json_extract(document, '$.page_bytes') FROM ranks LIMIT 1")" = 163840 ] || die 'pages of the data'
alone "$tmp/small.db"
sqlite3 "$tmp/small.db" 'UPDATE ranks SET storage_bytes = bytes * 4'
for change in 'storage_bytes' 'bytes'; do
  sqlite3 "$tmp/small.db" "UPDATE ranks SET storage_bytes = $change WHERE ranks = 2"
  call report "$tmp/small.db" --json
  "$python" -c 'import json, sys
known = [r["efficiency"] is not None for r in json.load(open(sys.argv[1]))["ranks"]]
sys.exit(known != [True, sys.argv[2] == "storage_bytes"])' "$tmp/.out" "$change" || die "fed by caches: $change"
done
cp "$tmp/data/$(cd "$tmp/data" && find . -name '*.bin' | head -n 1)" "$tmp/data/one_more.bin"
launch 2 --json --data "$tmp/data" --split batch --batch 8 --db "$db"
expect_status 0
call report "$db" --json
"$python" -c 'import json, sys
sys.exit(json.load(open(sys.argv[1]))["ranks"][-1]["efficiency"] is not None)' "$tmp/.out" || die 'other data at the same place'
call report "$db" -o "$tmp/report"
[ "$status" != 0 ] || [ -s "$tmp/report/figures/ranks_scaling.svg" ] || die 'its figure is drawn'

# --- where it cannot be kept ------------------------------------------------------------------------------
mkdir "$tmp/folder"
launch 2 --data "$tmp/data" --db "$tmp/folder"
expect_status 1
[[ $err == *"$tmp/folder"* ]] || die 'a database that cannot be is named'
# Nor does it become a sample, or take the place of the catalog.
call catalog "$tmp/data" -o "$tmp/data.cat"
ln -s "$tmp/data" "$tmp/link"
for where in "--data $tmp/data --db $tmp/link/new.db" "--catalog $tmp/data.cat --db $tmp/data/new.db" \
  "--catalog $tmp/data.cat --db $tmp/data.cat"; do
  # shellcheck disable=SC2086
  launch 2 $where
  expect_status 2
  [[ $err == *'name '* && ! -e $tmp/data/new.db ]] || die "where a database must not be: $where: $err"
done
call catalog --check "$tmp/data.cat"
expect_status 0
echo "kept: $(sqlite3 "$db" 'SELECT count(*) FROM ranks') epochs"
