#!/usr/bin/env bash
# blksweep simulate: keys of the answer, predictions beside stored runs, and what it refuses.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

make_data "$tmp/data" 300
make_catalog "$tmp/data" "$tmp/data.cat"
cd "$tmp"

# A model with a known answer: 1 ms for each request, one after another.
cat >one.toml <<'TOML'
name = "one-ms"
description = "1 ms per request, one after another"
kind = "remote"
round_trip = "1ns"
jitter = 0.0
request = "1ms"
link_rate = "1000GB/s"
queue = 64
TOML

# check PYTHON-EXPRESSION: about the document `d` on stdout.
check() {
  printf '%s' "$out" | "$python" -c "
import json, sys
d = json.load(sys.stdin)
p = d['predictions']
assert $1, ('''$1''', [(x['epoch_ns'], x['requests'], x['error']) for x in p])" || die "$1"
}

call simulate data.cat --model ./one.toml --order random --merge none --depth 1 --json
expect_status 0
check 'd["model"] == "one-ms" and len(d["model_hash"]) == 16'
check 'len(p) == 1 and p[0]["samples"] == 300 and p[0]["reads"] == 300'
check 'p[0]["requests"] == 300 and 0.299e9 < p[0]["epoch_ns"] < 0.302e9'
check 'p[0]["cell"]["order"] == "random" and p[0]["run"] is None and p[0]["error"] is None'
check 'p[0]["depth_mean"] == 1 and p[0]["utilisation"] is None'

# Merging in the plug and on the device leaves fewer requests, so less time.
call simulate data.cat --model ./one.toml --order lba --merge none,device --depth 32 --json
check 'p[1]["requests"] <= p[0]["requests"] < 300 and p[1]["epoch_ns"] < 0.3e9'

# The accelerator's time, and the same seed twice.
options=(--order random --merge none --compute lognormal:5ms --batch 30 --repeats 3)
call simulate data.cat --model ./one.toml "${options[@]}" --json
check '[x["seed"] for x in p] == [1, 2, 3] and all(0 < x["utilisation"] <= 1 for x in p)'
first=$out
call simulate data.cat --model ./one.toml "${options[@]}" --json
[ "$out" = "$first" ] || die 'equal inputs, different answers'

# A folder of that name on another disk, or none: the size of the disk is not known, and that is said.
check 'not d["notes"]'
mv data away
mkdir data
call simulate data.cat --model ./one.toml "${options[@]}" --json
check 'any("files of the catalog are not here" in x and "--size" in x for x in d["notes"])'
call simulate data.cat --model ./one.toml "${options[@]}" --size 8TiB --json
check 'd["size"] == 8 * 2**40 and not d["notes"]'
rmdir data
mv away data
status=0
"$python" "$refuse_call" 437 24 "$blksweep" simulate data.cat --model ./one.toml "${options[@]}" --json >"$tmp/.out" || status=$?
if [ "$status" != 99 ]; then
  expect_status 0
  out=$(cat "$tmp/.out")
  check 'any("is not known" in x and "RLIMIT_NOFILE" in x for x in d["notes"])'
fi

# The table: ratios to the first cell.
call simulate data.cat --model none --host-cost 10us --order random --merge none
expect_status 0
[[ $out == *' 3 ms '*' 1.00 '* ]] || die '300 reads of 10 us'

# Of samples/s, as in every table: two passes are no slower than one. A model without time has no speed.
call simulate data.cat --model ./one.toml --order random --merge none --depth 1 --epochs 1,2
grep -q 'epochs 2 .* 600 ms .* 1\.00 .* 600 ' <<<"$out" || die "the ratio of two passes to one: $out"
call simulate data.cat --model none --order lba --merge none --json
check 'p[0]["epoch_ns"] == 0 and p[0]["samples_per_s"] is None and p[0]["bytes_per_s"] is None'
call simulate data.cat --model none --order lba --merge none
grep -Eq 'lba .* 0 ns +- +- +- ' <<<"$out" || die "a speed of no time: $out"
call disk model none --json
printf '%s' "$out" | "$python" -c 'import json, sys; assert json.load(sys.stdin)["random"][0]["reads_per_s"] is None' ||
  die 'a disk that takes no time has a rate'

# Beside runs: matched by cell and seed, stored, reported.
call run --catalog data.cat --order random,lba --repeats 2 --no-probe --no-ceiling --db r.db --model ./one.toml --json
expect_status 0
printf '%s' "$out" | "$python" -c '
import json, sys
for r in json.load(sys.stdin)["runs"]:
    p = r["prediction"]
    assert p["model"] == "one-ms" and p["requests"] > 0
    assert abs(p["error"] - (p["epoch_ns"] / r["epoch_ns"] - 1)) < 1e-9
' || die 'run --model stores a prediction with each run'
call simulate data.cat --model ./one.toml --db r.db --json
expect_status 0
check 'len(p) == 4 and {x["seed"] for x in p} == {1, 2} and all(x["run"] for x in p)'
check 'all(abs(x["error"] - (x["epoch_ns"] / x["measured_epoch_ns"] - 1)) < 1e-9 for x in p)'
call simulate data.cat --model ./one.toml --db r.db --order lba --json
check 'len(p) == 2 and {x["cell"]["order"] for x in p} == {"lba"}'
# The queue and the speed of these runs' disk, unless others are asked for.
if command -v sqlite3 >/dev/null; then
  cp r.db queue.db
  sqlite3 queue.db "DELETE FROM queue_setting WHERE name IN ('max_sectors_kb', 'nomerges', 'scheduler', 'nr_requests');
    INSERT INTO queue_setting SELECT experiment_id, 'max_sectors_kb', '4' FROM experiment;
    INSERT INTO queue_setting SELECT experiment_id, 'nomerges', '2' FROM experiment;
    DELETE FROM layer_fact WHERE name = 'emulation';
    INSERT INTO layer_fact SELECT experiment_id, 9999, 'loop7', 'emulation', 'emulated one-ms x10 0123456789abcdef' FROM experiment"
  call simulate data.cat --model ./one.toml --db queue.db --order lba --json
  check 'd["speedup"] == 10 and all(x["requests"] == x["reads"] for x in p) and any("nomerges 2" in n for n in d["notes"])'
  theirs=$(printf '%s' "$out" | "$python" -c 'import json, sys; print(json.load(sys.stdin)["predictions"][0]["requests"])')
  check "p[0]['epoch_ns'] < $theirs * 101_000"
  call simulate data.cat --model ./one.toml --db queue.db --order lba --json --speedup 1 --max-request 1MiB
  check 'd["speedup"] == 1 and all(x["requests"] < x["reads"] and x["epoch_ns"] > x["requests"] * 990_000 for x in p)'
fi

stored() {
  "$python" -c '
import sqlite3
print(sqlite3.connect("r.db").execute("SELECT count(*), count(DISTINCT model) FROM prediction").fetchone())'
}
# A comparison changes nothing that a report shows; a prediction is stored when that is asked.
before=$(sha256sum r.db)
call report r.db
report=$out
call simulate data.cat --model none --db r.db
[[ $out == *measured*error* ]] || die 'the table says what was measured'
[ "$(sha256sum r.db)" = "$before" ] || die 'simulate --db without --store wrote into the database'
[ "$(stored)" = '(4, 1)' ] || die "predictions of run --model alone: $(stored)"
call report r.db
[ "$out" = "$report" ] || die 'a comparison changed an earlier report'
call simulate data.cat --model none --db r.db --store
expect_status 0
[ "$(stored)" = '(8, 2)' ] || die "one prediction for each run and model: $(stored)"
call simulate data.cat --model none --store
expect_error 2 --store --db
call report r.db --json
printf '%s' "$out" | "$python" -c '
import json, sys
assert all(c["prediction_epoch_ns"] is not None for c in json.load(sys.stdin)["cells"])' ||
  die 'the report has predictions'

# What is refused, in a line.
call simulate data.cat --model nosuch
expect_error 2 nosuch
call simulate none.cat --model none
expect_error 1 none.cat
call simulate data.cat --model none --size 4KiB
expect_error 2 '--size 4 KiB'
call simulate data.cat --model none --buffered
expect_status 2
call simulate data.cat --model none --io buffered
expect_error 2 buffered
call simulate data.cat --model none --db none.db
expect_error 1 none.db
call simulate data.cat --model none --repeats 0
expect_error 2 --repeats
make_data "$tmp/other" 7
make_catalog "$tmp/other" "$tmp/other.cat"
call simulate other.cat --model none --db r.db
expect_error 1 'no complete run'
# As many samples of as many bytes, elsewhere: the runs were of other files.
make_data "$tmp/same" 300
make_catalog "$tmp/same" "$tmp/same.cat"
if [ "$(sqlite3 r.db 'SELECT count(layout) FROM run')" -gt 0 ]; then
  call simulate same.cat --model none --db r.db
  expect_error 1 'no complete run'
fi
call run --catalog data.cat --model nosuch --no-probe
expect_error 2 nosuch
