#!/usr/bin/env bash
# blksweep fio: the folder has the reads of the stored twin, runs by hand where it was moved to, and is
# refused where the data set is not what the run read.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

fio=$(command -v fio) || skip 'no fio'
cd "$tmp"
call dataset make data --count 120 --size uniform:1KiB-60KiB --classes 3 --fragment 2
cp data/class_0000/000000.bin 'data/class_0000/a name.bin' 2>/dev/null || cp "$(find data -name '*.bin' | head -1)" 'data/class_0000/a name.bin'
make_catalog data data.cat

# The stored twin's iologs and job, kept by a fio that stands before the real one.
mkdir bin kept
cat >bin/fio <<SH
#!/bin/sh
PATH=/usr/bin:/bin
case "\$*" in *twin.fio*) cp -r . "$tmp/kept/\$(ls "$tmp/kept" | wc -l)" ;; esac
exec $fio "\$@"
SH
chmod +x bin/fio
BLKSWEEP_PATH=$tmp/bin:$PATH call run --catalog data.cat --order random --merge file --shuffle buffer --window 20% --epochs 2 \
  --fio-twin both --no-probe --no-ceiling --db r.db --json
expect_status 0 3
[ "$(find kept -name twin.fio | wc -l)" = 2 ] || die 'the stored twins were not seen'

call fio 1 --db r.db -o grouped
expect_status 0
call fio 1 --db r.db -o plain --arm plain
expect_status 0
mkdir elsewhere
mv grouped plain elsewhere  # it names nothing by where it is
for arm in grouped plain; do
  (cd / && sh "$tmp/elsewhere/$arm/run.sh" --output-format=json --output="$tmp/$arm.json") || die "$arm: fio ended with $?"
  [ ! -e "elsewhere/$arm/data" ] || die "$arm: fio's link to the data is left behind"
done
"$python" - <<'PY' || die 'the folder is not the stored twin'
import collections, glob, json, re, sqlite3
def reads(folder):
    """{(file, offset, bytes): count} of all iologs of a folder."""
    found = collections.Counter()
    for path in glob.glob(folder + "/segment*.iolog"):
        for line in open(path):
            words = line.split()
            if len(words) == 5 and words[2] == "read":
                found[re.sub(r".*/(?=file\d+$)", "", words[1]), int(words[3]), int(words[4])] += 1
    return found
def job(folder):
    return [l for l in open(folder + "/twin.fio").read().splitlines() if not l.startswith(("read_iolog", "fixedbufs"))]
kept = {tuple(job(f)): f for f in glob.glob("kept/*")}
db = sqlite3.connect("r.db")
for arm in ("grouped", "plain"):
    folder = "elsewhere/" + arm
    stored = kept[tuple(job(folder))]
    ours = reads(folder)
    assert ours == reads(stored) and len(ours) > 100
    planned, read = db.execute("SELECT planned_bytes, read_bytes FROM fio WHERE arm = ?", [arm]).fetchone()
    text = open(arm + ".json").read()
    jobs = json.loads(text[text.index("{"):])["jobs"]
    assert sum(j["error"] for j in jobs) == 0
    assert sum(j["read"]["total_ios"] for j in jobs) == sum(ours.values())
    assert sum(j["read"]["io_bytes"] for j in jobs) == planned == read
    assert f"{sum(ours.values())} reads of {planned} bytes" in open(folder + "/README.md").read()
PY

call fio 2 --db r.db -o other
expect_error 1 'r.db has no run 2'
call fio 1 --db r.db -o elsewhere
expect_error 1 'is not empty'
call fio 1 --db r.db -o other --arm both
expect_error 2 "'both' is not grouped or plain"
call fio 1 --db none.db -o other
expect_error 1 'none.db'
call run --data data --reader workers:2 --order random --no-probe --no-ceiling --db r.db
expect_status 0
call fio 2 --db r.db -o other
expect_error 77 '2 workers'
[ ! -e other ] || die 'what was refused left a folder'

# A fio whose times are in other units read for longer than it was there.
cat >bin/fio <<SH
#!/bin/sh
$fio "\$@" || exit
case "\$*" in *twin.fio*) sed -i 's/"runtime" : \([1-9][0-9]*\)/"runtime" : \1000/' out.json ;; esac
SH
BLKSWEEP_PATH=$tmp/bin:$PATH call run --catalog data.cat --order random --buffered --cache warm --fio-twin --no-probe --no-ceiling --json
printf '%s' "$out" | "$python" -c '
import json, sys
run = json.load(sys.stdin)["runs"][0]
sys.exit(run["fio_ratio"] is not None or not any("was there for" in w for w in run["warnings"]))' || die "times of other units: $out"

# The data set is another one now, or gone.
rm data.cat
call fio 1 --db r.db -o again
expect_status 0  # the folder is scanned instead
mv 'data/class_0000/a name.bin' kept/
call fio 1 --db r.db -o gone
expect_error 1 'run 1' 'data'
mv data moved
call fio 1 --db r.db -o gone
expect_error 1 "$tmp/data"
[ ! -e gone ] || die 'what was refused left a folder'
