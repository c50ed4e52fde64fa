#!/usr/bin/env bash
# The fio twin does the same work as the run (issue 10, findings 2, 3, 4), and says so where it cannot:
# the same requests at the device, first or second by lot, from the same start; else no ratio.
# Side by side: on disks of its own; requests are looked at, not times.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

[ "$(id -u)" = 0 ] || skip 'needs root for a loop device and cold caches'
command -v fio >/dev/null || skip 'needs fio'
at_exit loopfs_remove
loopfs_make "$tmp/disk.img" "$tmp/disk" 128MiB ext4 || skip "$loopfs_reason"
call dataset make "$tmp/disk/data" --count 800 --size 24KiB
expect_status 0
make_catalog "$tmp/disk/data" "$tmp/data.cat"
# On a busy machine two pages of inodes, whose times of access the catalog's walk changed, outlived ten drops of all caches.
umount "$tmp/disk"
mount "$loopfs_device" "$tmp/disk"

# measure OPTION... : the document of the runs into $tmp/runs.json
measure() {
  call run --catalog "$tmp/data.cat" --no-probe --no-ceiling --json "$@"
  expect_status 0
  cp "$tmp/.out" "$tmp/runs.json"
}

# check PYTHON : with `runs` and `median`; an assertion that fails ends the test
check() {
  "$python" - "$tmp/runs.json" "$1" <<'PY' || die "$1"
import json, statistics, sys
runs = json.load(open(sys.argv[1]))["runs"]
median = statistics.median
def cells(**wanted):
    return [r for r in runs if all(r["cell"][k] == v for k, v in wanted.items())]
exec(sys.argv[2])
PY
}

# --- the same groups and the same kind of memory: the same requests ---------------------------------
measure --order lba --merge none,kernel,device --cache cold --fio-twin both --openers 0 --repeats 5
check '
for merge in ("none", "kernel", "device"):
    found = cells(merge=merge)
    ours, twin, plain = (median(r[k] if k != "plain" else r["fio_plain"]["requests"] for r in found)
                         for k in ("device_reads", "requests_twin", "plain"))
    print(f"{merge}: {ours} requests, twin {twin}, plain fio {plain}")
    assert abs(ours - twin) <= 0.02 * max(ours, twin), merge
    # No run finds folders or inodes in memory that another has left: least and median are the same.
    for side in ([r["device_bytes"] for r in found], [r["fio"]["device_bytes"] for r in found]):
        assert min(side) == median(side), (merge, side)
    assert median(r["device_bytes"] for r in found) == median(r["fio"]["device_bytes"] for r in found), merge
    assert all(r["fio"]["read_bytes"] == r["fio"]["planned_bytes"] for r in runs)
    if merge != "device":
        assert plain > 2 * twin, "plain fio submits one by one"
'
check '
for r in runs:
    fio = r["fio"]
    assert r["refill"] == (16 if r["cell"]["merge"] == "kernel" else 8) and r["submit_batch"] == (16 if r["cell"]["merge"] == "kernel" else None)
    assert "direct=1" in fio["job"]
    assert abs(fio["bytes_per_s"] - r["bytes"] * 1e9 / fio["runtime_ns"]) < 1, "of what was delivered"
    # What else the machine does may spoil a pair, which then has a reason and no ratio.
    assert fio["ratio_reason"] if fio["ratio"] is None else abs(fio["ratio"] - fio["runtime_ns"] / r["epoch_ns"]) < 1e-9
    assert fio["resident_before"] is not None and fio["resident_before"] < 0.001
    assert sorted([r["pair_position"], fio["position"], r["fio_plain"]["position"]]) == [0, 1, 2]
assert len({r["pair_position"] for r in runs}) > 1, "the order is drawn by lot"
without = [r["fio"]["ratio_reason"] for r in runs if r["fio"]["ratio"] is None]
assert len(without) < len(runs) / 2, without
'

# --- a ratio where it means nothing is none, with the reason ------------------------------------------
# Again where another test drops the machine's caches between the run and its twin.
for _ in 1 2 3 4 5; do
  call cache drop
  measure --order lba --buffered --cache keep --fio-twin
  ! grep -q 'in the page cache' "$tmp/runs.json" || break
done
check '
fio = runs[0]["fio"]
assert "direct=0" in fio["job"], "as our run reads"
assert runs[0]["fio_ratio"] is None and "in the page cache" in fio["ratio_reason"], fio
assert any("no ratio to the grouped fio twin" in w for w in runs[0]["warnings"])
'
measure --order lba --cache cold --compute 1ms --fio-twin
check 'assert runs[0]["fio_ratio"] is None and "consumer" in runs[0]["fio"]["ratio_reason"]'
measure --order lba --cache cold --copy host --fio-twin=plain
check '
assert runs[0]["fio"] is None and runs[0]["fio_plain_ratio"] is None
assert "copies" in runs[0]["fio_plain"]["ratio_reason"]
'

# --- reading the device is direct on both sides -------------------------------------------------------
for _ in 1 2 3; do # a pair that something spoiled has none
  measure --order lba --merge device --buffered --cache keep --fio-twin
  grep -q '"fio_ratio": null' "$tmp/runs.json" || break
done
check '
fio = runs[0]["fio"]
assert "direct=1" in fio["job"] and fio["ratio"] is not None, fio["ratio_reason"]
assert abs(fio["device_bytes"] - runs[0]["device_bytes"]) <= 0.01 * runs[0]["device_bytes"]
'

call run --catalog "$tmp/data.cat" --fio-twin=some
expect_error 2 "--fio-twin: 'some' is not one of grouped, plain, both, none"
