#!/usr/bin/env bash
# Workers beside the planned reader, and the first part of each sample: what is delivered, refused,
# recorded and predicted; and that the waiting of n workers has a peak every n batches.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

make_data "$tmp/data" 600
make_catalog "$tmp/data" "$tmp/data.cat"
quiet=(--no-probe --no-ceiling)
run() { call run --catalog "$tmp/data.cat" --buffered "${quiet[@]}" --json "$@"; }

# Every sample once with its own bytes; what means nothing to workers is not recorded of them.
run --reader planned,workers:1,workers:3 --scope sample,batch --batch 32 --verify
if [ "$status" = 77 ]; then # no rings here
  run --reader planned,workers:1,workers:3 --batch 32 --verify
fi
expect_status 0
expect 'all samples, all right' 'all(r["samples"] == 600 and r["wrong_samples"] == 0 and not r["incomplete"] for r in runs)'
expect 'the plan has one cell, whatever the scope of workers' '
  [r["cell"]["reader"] for r in runs].count("planned") == 1'
expect 'workers have no depth, and read in random order' '
  all(r["cell"]["depth"] is None and r["refill"] is None and r["cell"]["order"] == "random"
      for r in runs if r["cell"]["reader"] != "planned")'
expect 'the engine is that of the scope' '
  all(r["cell"]["engine"] == ("io_uring" if r["cell"]["scope"] == "batch" else "psync")
      for r in runs if r["cell"]["reader"] != "planned")'
run --reader workers:2 --order path --verify
expect_status 0
expect 'an order that is named is kept' 'run["cell"]["order"] == "path" and run["wrong_samples"] == 0'

refused() {
  local text=$1
  shift
  run "$@"
  expect_error 2 "$text"
}
refused "'workers:0' is not planned or workers:N" --reader workers:0
refused "'pool' is not planned or workers:N" --reader pool
refused '--merge none' --reader workers:2 --merge device
refused '--order random' --reader workers:2 --shuffle reservoir
refused 'read with psync' --reader workers:2 --engine io_uring
refused '--decode-threads' --decode-cpu 1ms
refused '1s of CPU time' --reader workers:2 --decode-cpu 2s
refused '4096' --reader workers:2 --scope batch --batch 5000
refused 'not a share' --read-share 0%
refused 'not a share' --read-share 101%
refused 'not a share' --read-share 25

# The first part of each sample: fewer bytes, the right ones, one cell a share.
run --read-share 25%,50%,100% --reader planned,workers:2 --verify
expect_status 0
expect 'bytes are shares of all' '
  sorted({(r["cell"]["read-share"], r["bytes"]) for r in runs}) ==
  [("100%", 600 * 4096), ("25%", 600 * 1024), ("50%", 600 * 2048)]'
expect 'and they are right' 'all(r["wrong_samples"] == 0 for r in runs)'
call run --catalog "$tmp/data.cat" --direct "${quiet[@]}" --json --read-share 25% --verify
expect_status 0
expect 'direct reads ask for less' 'run["wrong_samples"] == 0 and run["read_bytes"] <= 600 * 4096'
call simulate "$tmp/data.cat" --model hdd-7200 --order lba --merge none --read-share 25%,100% --json
expect_status 0
"$python" -c '
import json, sys
rows = json.load(open(sys.argv[1]))["predictions"]
part, whole = (next(r for r in rows if r["cell"]["read-share"] == s) for s in ("25%", "100%"))
sys.exit(0 if part["bytes"] * 4 == whole["bytes"] and part["epoch_ns"] <= whole["epoch_ns"] else 1)' \
  "$tmp/.out" || die 'a share is not predicted'
call simulate "$tmp/data.cat" --model hdd-7200 --reader workers:2 --merge none
expect_error 2 'not modelled'

# n workers that all spin for the same time end together: the consumer waits for every n-th batch. The
# planned reader with as many threads that spin leaves no such peak. Work of others may blur one try.
find_periods() {
  rm -f "$tmp/period.db"
  call run --catalog "$tmp/data.cat" --buffered "${quiet[@]}" --db "$tmp/period.db" \
    --reader planned,workers:4 --order random --batch 4 --decode-cpu 500us --decode-threads 4
  expect_status 0
  "$python" scripts/figures/batch_period.py "$tmp/period.db" --lag 4 --json >"$tmp/periods"
  "$python" -c '
import json, sys
found = {r["reader"]: r["period"]["periodic"] for r in json.load(open(sys.argv[1]))["runs"]}
sys.exit(0 if found == {"planned": False, "workers:4": True} else 1)' "$tmp/periods" ||
    die "periods: $(cat "$tmp/periods")"
}
in_three_tries find_periods

# Fio replays one list: beside more workers there is no twin, and the reason is said.
if command -v fio >/dev/null; then
  run --reader workers:2 --fio-twin
  expect_status 0
  expect 'no twin, with its reason' '
    run["fio_ratio"] is None and any("no fio twin: 2 workers" in w for w in run["warnings"])'
fi
