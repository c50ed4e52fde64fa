#!/usr/bin/env bash
# Does this program still read and emit what another build of it did? 216 cells of one data set are
# run, planned and simulated by both; what does not depend on the clock must be equal.
#
#   OTHER=PATH      the build to compare with
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/../cli/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

[ "$(id -u)" = 0 ] || skip 'needs root to set up a loop device'
[ -n "${OTHER:-}" ] || skip 'OTHER=PATH names the build to compare with'
declare -A programs=([ours]=$blksweep [other]=$(realpath "$OTHER"))
at_exit loopfs_remove
loopfs_make "$tmp/disk.img" "$tmp/disk" 256MiB ext4 || skip "$loopfs_reason"
call dataset make "$tmp/disk/data" --count 600 --size lognormal:24KiB --classes 6 --fragment 2
expect_status 0
make_catalog "$tmp/disk/data" "$tmp/data.cat"

orders=random,path,directory,inode,lba,chunked
merges=none,file,kernel,device
shuffles=none,buffer,reservoir
small=(--window 2MiB --merge-horizon 512KiB --batch 32 --chunk 256KiB)
whole=(--shuffle full --window 32MiB --batch 32 --chunk 256KiB) # a full shuffle holds the epoch
every=(--order "$orders" --merge "$merges")

# runs NAME ARGUMENT... : the same sweep by both programs
runs() {
  local name=$1 program
  shift
  for program in ours other; do
    blksweep=${programs[$program]}
    call run --catalog "$tmp/data.cat" --no-probe --no-ceiling --json "$@"
    expect_status 0
    mv "$tmp/.out" "$tmp/$program-run-$name.json"
  done
}

# each VERB ARGUMENT... : cell by cell, because these verbs take one
each() {
  local program order merge shuffle verb=$1
  shift
  for program in ours other; do
    blksweep=${programs[$program]}
    for order in ${orders//,/ }; do
      for merge in ${merges//,/ }; do
        for shuffle in ${shuffles//,/ }; do
          call "$verb" "$tmp/data.cat" --order "$order" --merge "$merge" --shuffle "$shuffle" "${small[@]}" --json "$@"
          expect_status 0
          mv "$tmp/.out" "$tmp/$program-$verb-$order-$merge-$shuffle.json"
        done
      done
    done
  done
}

runs uring "${every[@]}" --shuffle "$shuffles" "${small[@]}" --seed 1
runs psync "${every[@]}" --shuffle "$shuffles" "${small[@]}" --seed 7 --engine psync
runs uring-full "${every[@]}" "${whole[@]}" --seed 1
runs psync-full "${every[@]}" "${whole[@]}" --seed 7 --engine psync
runs epochs --order random,lba,chunked --merge "$merges" --shuffle reservoir --epochs 2 "${small[@]}" --verify
runs sorted --order random --sort-window 25% --merge "$merges" --shuffle "$shuffles" --depth 4 "${small[@]}"
each plan --seed 3
each simulate --seed 3 --model hdd-7200

"$python" - "$tmp" <<'END'
import json, pathlib, sys

tmp = pathlib.Path(sys.argv[1])
# By the clock or the caches, not by the program: times, rates, waits, what was resident, who else read.
RUN = ("samples", "missing_samples", "wrong_samples", "bytes", "emission_hash", "reads_submitted", "read_bytes",
       "gap_bytes", "seeks", "io_errors", "short_reads", "device_fallbacks", "window_peak_bytes", "arena_bytes",
       "horizon_bytes", "refill", "submit_batch", "layout")
CLOCKED = ("plan_ns", "cell")

def settings(document):
    return set(document["runs"][0]["cell"]) if "runs" in document else set()

# A cell by the settings that both programs know: the newer one has some more, at their defaults.
def facts(path, document, known):
    if "runs" in document:
        return {" ".join(f"{k}={v}" for k, v in sorted(r["cell"].items()) if k in known): {k: r[k] for k in RUN}
                for r in document["runs"]}
    (plan,) = document.get("plans") or document["predictions"]
    return {path.name.partition("-")[2]: {k: v for k, v in plan.items() if k not in CLOCKED}}

cells, different = 0, 0
for path in sorted(tmp.glob("ours-*.json")):
    beside = path.with_name(path.name.replace("ours-", "other-", 1))
    documents = [json.loads(p.read_text()) for p in (path, beside)]
    known = settings(documents[0]) & settings(documents[1])
    mine, theirs = (facts(p, d, known) for p, d in zip((path, beside), documents))
    assert mine.keys() == theirs.keys(), f"{path.name}: other cells"
    for (cell, now), then in zip(mine.items(), (theirs[c] for c in mine)):
        cells += 1
        other = {key: (then.get(key), now[key]) for key in now if now[key] != then.get(key)}
        different += bool(other)
        if other and different < 10:
            print(f"{path.name}: {cell}: {other}")
hashes = {r["emission_hash"] for p in tmp.glob("ours-run-*.json") for r in json.loads(p.read_text())["runs"]}
print(f"{cells} runs, plans and predictions, {len(hashes)} orders of emission: {different} different")
sys.exit(different > 0 or cells < 350 or len(hashes) < 50)
END
