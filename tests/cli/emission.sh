#!/usr/bin/env bash
# --emission: the plan's file is the run's, and both are what the stored hash is of. (That what failed is
# absent: faults.sh.)
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

here=$(realpath "$(dirname "$0")")
cd "$tmp"
call dataset make data --count 200 --size uniform:1KiB-40KiB --classes 5
make_catalog data data.cat

# The same command line, planned and run.
same() {
  local name=$1
  shift
  call plan data.cat "$@" --emission "plan-$name" --json
  expect_status 0
  printf '%s' "$out" >plan.json
  call run --catalog data.cat "$@" --emission "run-$name" --no-probe --no-ceiling --db "$name.db" --json
  expect_status 0
  cp "$tmp/.out" run.json
  "$python" - "$name" <<'PY' || die "$name: the plan's hash is not the run's"
import json, sys
plans, runs = json.load(open("plan.json"))["plans"], json.load(open("run.json"))["runs"]
assert sorted(p["emission_hash"] for p in plans) == sorted(r["emission_hash"] for r in runs)
assert all(p["shuffle_quality"]["label_mix"] is not None for p in plans)
for p in plans:  # what is planned is what was delivered
    run = next(r for r in runs if r["emission_hash"] == p["emission_hash"])
    assert p["shuffle_quality"] == run["shuffle_quality"], (p["shuffle_quality"], run["shuffle_quality"])
PY
}
same one.npy --order lba --merge file --shuffle buffer --window 20% --epochs 2 --batch 30
cmp plan-one.npy run-one.npy || die 'buffer: the plan is not what was delivered'
same text.csv --order random --merge none --shuffle full --window 100% --read-share 25% --batch 50
cmp plan-text.csv run-text.csv || die 'full: the plan is not what was delivered'
same 'c%c.npy' --order lba,chunked --merge none --chunk 100KiB --shuffle none,reservoir --window 30% \
  --batch 40
for cell in 1 2 3 4; do
  cmp "plan-c$cell.npy" "run-c$cell.npy" || die "cell $cell: the plan is not what was delivered"
done
call run --catalog data.cat --reader workers:2 --batch 16 --order random --emission w-%c-%r.npy --repeats 2 \
  --no-probe --no-ceiling --json
expect_status 0
call plan data.cat --reader workers:2 --batch 16 --order random --merge none --emission pw.npy
cmp pw.npy w-1-0.npy || die 'workers: the plan is not what was delivered'
cmp -s w-1-0.npy w-1-1.npy && die 'two seeds, one order'

# The line of docs/emission.md, and that both forms say the same.
"$python" - <<'PY' || die 'numpy: not what docs/emission.md says'
import csv, os, numpy
order = numpy.load("run-one.npy")  # allow_pickle=False is its default
assert len(order) == 400 and order.dtype["sample"] == numpy.int64
for epoch in (0, 1):
    mine = order[order["epoch"] == epoch]
    assert sorted(mine["sample"]) == list(range(200))
    assert set(mine["batch"]) == set(range(7 * epoch, 7 * epoch + 7))
assert list(order["place"]) == list(range(400))
paths = sorted(os.path.join(d, f)[5:].encode() for d, _, files in os.walk("data") for f in files)
assert [paths[s] for s in order["sample"]] == list(order["path"])
sizes = [os.path.getsize(b"data/" + p) for p in order["path"]]
assert sizes == list(order["bytes"])
names = sorted({p.split(b"/")[0] for p in paths})
assert [names[l] for l in order["label"]] == [p.split(b"/")[0] for p in order["path"]] == list(order["label_name"])
rows = list(csv.DictReader(open("run-text.csv")))
assert len(rows) == 200 and all(int(r["bytes"]) == -(-os.path.getsize("data/" + r["path"]) // 4) for r in rows)
PY

# One file each, or a field; a place that is there; before anything is read.
call run --catalog data.cat --order lba,random --emission e.npy
expect_error 2 '--emission: 2 cells' '%c'
call run --data data --order lba --repeats 2 --emission e.npy
expect_error 2 '--emission: 2 repeats' '%r'
call run --data data --order lba --emission 'e-%x.npy'
expect_error 2 "'e-%x.npy'" '%c'
call plan data.cat --emission e.npy
expect_error 2 '4 cells' '%c'
call run --data data --order lba --emission no/such/e.npy --db never.db
expect_error 1 'no/such'
[ ! -e e.npy ] || die 'a refused name left a file'
cp data.cat kept.cat
call run --catalog data.cat --order lba --emission ./data.cat
expect_error 2 './data.cat' 'would take the place of data.cat'
cmp data.cat kept.cat || die 'the catalog was written over'

# Peers: what they delivered, in their own batches, of each epoch; of one that is no result, nothing.
cp "$here/../support/fake_peer.py" fake
call run --catalog data.cat --order random --peer "$PWD/fake" --epochs 2 --batch 30 --emission 'peer%c.csv' --no-check \
  --no-probe --no-ceiling --json
expect_status 0
"$python" - <<'PY' || die 'a file of a peer'
import csv
ours, peer = (list(csv.DictReader(open(f"peer{n}.csv"))) for n in (1, 2))
assert [r["sample"] for r in ours] == [r["sample"] for r in peer] and len(peer) == 400
assert [r["epoch"] for r in peer] == ["0"] * 200 + ["1"] * 200 == [r["epoch"] for r in ours]
PY
call run --catalog data.cat --order random --peer "$PWD/fake:small-batches" --epochs 2 --batch 30 --emission 'peer%c.csv' \
  --no-check --no-probe --no-ceiling --json
expect_status 0
"$python" - <<'PY' || die 'a file of a peer with smaller batches'
import csv
peer = list(csv.DictReader(open("peer2.csv")))
assert [r["epoch"] for r in peer] == ["0"] * 200 + ["1"] * 200
PY
call run --catalog data.cat --order random --peer "$PWD/fake:bytes" --batch 30 --emission 'peer%c.csv' --no-check \
  --no-probe --no-ceiling --json
expect_status 3
[ "$(wc -l <peer2.csv)" = 1 ] || die 'what a peer said in vain was emitted'
