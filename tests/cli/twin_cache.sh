#!/usr/bin/env bash
# Files that O_DIRECT opens and that are read through the page cache all the same (compressed, on btrfs):
# with --cache keep, whoever comes second reads from memory. No ratio then, and the reason.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

[ "$(id -u)" = 0 ] || skip 'needs root for a loop device and cold caches'
command -v fio >/dev/null || skip 'needs fio'
command -v mkfs.btrfs >/dev/null || skip 'needs btrfs-progs'
at_exit loopfs_remove
loopfs_make "$tmp/disk.img" "$tmp/disk" 256MiB btrfs || skip "$loopfs_reason"
mount -o remount,compress-force=zstd "$tmp/disk" || skip 'btrfs without zstd'
mkdir "$tmp/disk/data"
"$python" - "$tmp/disk/data" <<'PY'
import sys
for i in range(100):
    with open(f"{sys.argv[1]}/{i}", "wb") as f:
        f.write((b"sample %d " % i * 40_000)[:256 * 1024])
PY
sync
make_catalog "$tmp/disk/data" "$tmp/data.cat"

# measure OPTION... : the first run and its twin into $tmp/run.json
measure() {
  call run --catalog "$tmp/data.cat" --order path --cache keep --fio-twin --no-probe --no-ceiling --json "$@"
  expect_status 0
  "$python" -c 'import json, sys; json.dump(json.load(sys.stdin)["runs"][0], sys.stdout)' <"$tmp/.out" >"$tmp/run.json"
}
check() {
  "$python" - "$tmp/run.json" "$1" <<'PY' || die "$1"
import json, sys
run = json.load(open(sys.argv[1]))
fio = run["fio"]
print(f"ratio {run['fio_ratio']}, resident {run['resident_before']} and {fio['resident_before']}: {fio['ratio_reason']}")
exec(sys.argv[2])
PY
}

# Somebody else may drop the caches of this node between a run and its twin; then it is tried again.
# began_with SHARE SHARE : so much was resident as the two began, the lesser first
began_with() {
  "$python" - "$tmp/run.json" "$@" <<'PY'
import json, sys
run = json.load(open(sys.argv[1]))
sys.exit(sorted([run["resident_before"], run["fio"]["resident_before"]]) != [float(x) for x in sys.argv[2:]])
PY
}

for io in direct buffered; do
  for _ in {1..10}; do
    call cache drop
    measure --io "$io"
    ! began_with 0 1 || break
  done
  began_with 0 1 || die 'one of them finds what the other has read'
  check 'assert run["fio_ratio"] is None and "of the data in the page cache" in fio["ratio_reason"]'
done
check 'assert "direct reads" not in fio["ratio_reason"], "this run was not to read directly"'

# Now all of it is in memory: both begin with that.
for _ in {1..10}; do
  measure --io direct
  ! began_with 1 1 || break
done
began_with 1 1 || die 'what both have read is still in memory'
check 'assert run["fio_ratio"] is not None'
