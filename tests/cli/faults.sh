#!/usr/bin/env bash
# What goes wrong while a sweep runs costs what it must and no more: unreadable blocks, few
# descriptors, no io_uring, an interrupt, kill -9, data that will not leave the page cache.
# Side by side: on disks of its own; what goes wrong is looked at.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

[ "$(id -u)" = 0 ] || skip 'needs root to mount loop devices'
at_exit loopfs_remove

count() { "$python" -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])' "$@"; }

# --- 2,000 files with few descriptors ---------------------------------------------------------
make_data "$tmp/many" 2000
make_catalog "$tmp/many" "$tmp/many.cat"
every=$(engines all | tr ' ' ,)
for limit in 64 40; do
  (
    ulimit -n "$limit"
    call run --catalog "$tmp/many.cat" --engine "$every" --order random --buffered --merge none,file --verify --json \
      --no-probe --db "$tmp/limit.$limit.db"
    expect_status 0 77
    [ "$status" = 77 ] || expect "ulimit -n $limit" \
      'len(runs) >= 14 and all(r["missing_samples"] == 0 and r["wrong_samples"] == 0 for r in runs)'
  )
done
(
  ulimit -n 20
  call run --catalog "$tmp/many.cat" --buffered --json --no-probe
  expect_status 1
  [[ $err == *RLIMIT_NOFILE*'ulimit -n'* ]] || die 'does not say which limit'
)
echo 'few descriptors: fine'

# --- the kernel gives no ring: seccomp refuses io_uring_setup (425) with EPERM -----------------
no_ring() {
  status=0
  "$python" "$refuse_call" 425 1 "$blksweep" --quiet run --catalog "$tmp/many.cat" --buffered --json \
    --no-probe --no-ceiling "$@" >"$tmp/.out" 2>"$tmp/.err" || status=$?
  out=''
  err=$(cat "$tmp/.err")
}
no_ring --engine psync,io_uring --db "$tmp/ring.db"
if [ "$status" != 99 ]; then
  [[ $status == 77 && $err == *io_uring*'--engine psync'* ]] || die 'no ring, but named: exit 77'
  [ ! -e "$tmp/ring.db" ] || die 'no ring: a sweep began that cannot end'
  no_ring --db "$tmp/ring.db" --order random,path
  expect_status 0
  expect 'no ring: what ran, and why' 'len(runs) == 2 and all(r["cell"]["engine"] == "psync" and
    any("in place of io_uring" in w for w in r["warnings"]) for r in runs)'
  [ "$(count "$tmp/ring.db" "SELECT count(*) FROM run JOIN warning USING (run_id) WHERE text LIKE '%in place of io_uring%'")" = 2 ] ||
    die 'no ring: not stored'
fi
echo 'no io_uring: psync, and says so'

# --- the same seed emits the same ------------------------------------------------------------
emission() {
  call run --catalog "$tmp/many.cat" --order random --shuffle reservoir --window 1MiB --seed 5 \
    --buffered --json --no-probe "$@"
  expect_status 0
  "$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["runs"][0]["emission_hash"])' "$tmp/.out"
}
first=$(emission)
for other in '--seed 5' '--engine psync' '--depth 3' '--merge file --merge-max 16KiB' '--openers 3' '--copy host'; do
  # shellcheck disable=SC2086
  [ "$(emission $other)" = "$first" ] || die "another emission with $other"
done
[ "$(emission --seed 6)" != "$first" ] || die 'seed 6 emits as seed 5'
echo 'emission: repeatable'

# --- interrupt and kill -9 during a sweep; a second process on the same database ----------------
db=$tmp/sweep.db
sweep=(run --catalog "$tmp/many.cat" --order "random,lba,path" --repeats 4 --buffered --no-probe --no-ceiling
  --batch 100 --compute 20ms --json --db "$db")
runs() { count "$db" 'SELECT count(*) FROM run WHERE incomplete = 0' 2>/dev/null || echo 0; }
# cut SIGNAL N: starts the sweep, sends the signal once N runs are stored; leaves status.
cut() {
  "$blksweep" --quiet "${sweep[@]}" >"$tmp/.out" 2>"$tmp/.err" &
  local pid=$!
  while [ "$(runs)" -lt "$2" ] && kill -0 "$pid" 2>/dev/null; do
    sleep 0.05
  done
  kill -"$1" "$pid" 2>/dev/null || true
  status=0
  wait "$pid" 2>/dev/null || status=$?
}
cut INT 2
[ "$status" = 130 ] || die "SIGINT: wanted 130"
kept=$(runs)
((kept >= 2 && kept < 12)) || die "SIGINT: $kept runs are kept"
cut KILL "$((kept + 2))"
[ "$status" = 137 ] || die "kill -9: wanted 137"
[ "$(runs)" -ge "$((kept + 2))" ] || die 'kill -9: finished runs are gone'
kept=$(runs)
"$blksweep" --quiet run --catalog "$tmp/many.cat" --order inode --buffered --no-probe --no-ceiling \
  --compute 20ms --json --db "$db" >"$tmp/second.out" 2>"$tmp/second.err" &
second=$!
call "${sweep[@]}"
expect_status 0
expect 'going on repeats runs' "len(runs) == 12 - $kept"
wait "$second" || die "the second process: $(cat "$tmp/second.err")"
[ "$(runs)" = 13 ] || die 'the database has other than 12 + 1 runs'
[ "$(count "$db" 'SELECT count(*) FROM (SELECT DISTINCT cell_id, repeat FROM run WHERE incomplete = 0)')" = 13 ] ||
  die 'a run is there twice'
echo 'interrupt, kill -9, two at once: nothing lost, nothing twice'

# --- unreadable blocks: the image ends where its files go on -------------------------------------
loopfs_make "$tmp/bad.img" "$tmp/bad" 200M ext4 || skip "$loopfs_reason"
"$blksweep" --quiet dataset make "$loopfs_mount/data" --count 1500 --size 60KiB
sync -f "$loopfs_mount"
make_catalog "$loopfs_mount/data" "$tmp/bad.cat"
call run --catalog "$tmp/bad.cat" --cache cold --verify --json --no-probe --no-ceiling
expect_status 0
echo 3 >/proc/sys/vm/drop_caches
# Metadata stays readable: the cut is behind the lowest three quarters of the data.
cut_at=$("$python" - "$loopfs_mount/data" <<'PY'
import glob, re, subprocess, sys
starts = []
for path in glob.glob(sys.argv[1] + "/**/*", recursive=True):
    text = subprocess.run(["filefrag", "-b4096", "-e", path], capture_output=True, text=True).stdout
    for m in re.finditer(r"^\s*\d+:\s+\d+\.\.\s*\d+:\s+(\d+)\.\.\s*(\d+):", text, re.M):
        starts.append((int(m[1]), int(m[2])))
starts.sort()
print(starts[len(starts) * 3 // 4][0] * 4096 + 8192)
PY
)
lost_files() { # readable to the end or not, asked of the filesystem itself
  "$python" - "$1" <<'PY'
import glob, os, sys
bad = 0
for path in glob.glob(sys.argv[1] + "/**/*", recursive=True):
    if os.path.isfile(path):
        try:
            open(path, "rb").read()
        except OSError:
            bad += 1
print(bad)
PY
}
# Read-only: a write behind the cut would make the image long again, with zeros to read.
mount -o remount,ro "$loopfs_mount"
truncate -s "$cut_at" "$tmp/bad.img"
wanted=$(lost_files "$loopfs_mount/data")
((wanted > 50 && wanted < 1400)) || skip "$wanted files are unreadable: the cut misses"
for merge in none file kernel device; do
  call run --catalog "$tmp/bad.cat" --merge "$merge" --order lba --cache cold --verify --json --no-probe --no-ceiling \
    --emission "$tmp/bad.csv"
  expect_status 3
  [ "$(wc -l <"$tmp/bad.csv")" = $((1501 - wanted)) ] || die "EIO merge=$merge: --emission has what did not come"
  expect "EIO merge=$merge: wanted $wanted" \
    "run['missing_samples'] == $wanted and run['wrong_samples'] == 0 and run['samples'] == 1500 - $wanted"
  expect "EIO merge=$merge: not named" \
    "len(run['failed']) == min(100, $wanted) and all('Input/output' in f['error'] for f in run['failed'])"
  expect "EIO merge=$merge: the line" "run['incomplete_reason'] == f\"{run['missing_samples']:,} samples missing (first: {run['failed'][0]['path']}: Input/output error)\""
done
loopfs_remove
echo "unreadable blocks: $wanted samples lost, the others right"

# --- cold, with data that will not go ----------------------------------------------------------
mkdir "$tmp/locked"
loopfs_make "$tmp/locked.img" "$tmp/locked" 100M ext4 || skip "$loopfs_reason"
make_data "$loopfs_mount/data" 200
make_catalog "$loopfs_mount/data" "$tmp/locked.cat"
cat >"$tmp/lock.py" <<'PY'
import ctypes, glob, mmap, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
maps = []
for path in [p for p in glob.glob(sys.argv[1] + "/**/*", recursive=True) if os.path.isfile(p)][:50]:
    fd = os.open(path, os.O_RDWR)
    maps.append(mmap.mmap(fd, 0))
    at = ctypes.addressof(ctypes.c_char.from_buffer(maps[-1]))
    if libc.mlock(ctypes.c_void_p(at), ctypes.c_size_t(len(maps[-1]))):
        sys.exit(99)
open(sys.argv[2], "w").close()
time.sleep(600)
PY
"$python" "$tmp/lock.py" "$loopfs_mount/data" "$tmp/is_locked" &
locker=$!
end_at_exit "$locker"
while [ ! -e "$tmp/is_locked" ] && kill -0 "$locker" 2>/dev/null; do
  sleep 0.05
done
[ -e "$tmp/is_locked" ] || skip 'mlock is refused'
call run --catalog "$tmp/locked.cat" --cache cold --json --no-probe --no-ceiling
expect_status 3
expect 'not cold, and does not say so' \
  "run['incomplete'] and 'not cold' in run['incomplete_reason'] and run['resident_before'] > 0.2"
kill "$locker"
wait "$locker" 2>/dev/null || true
loopfs_remove
echo 'locked pages: not cold'

# --- memory: the window bounds it ----------------------------------------------------------------
"$blksweep" --quiet dataset make "$tmp/big" --count 400 --size 1MiB
cat >"$tmp/peak.py" <<'PY'
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024 if code == 0 else 10**9)
PY
peak=$("$python" "$tmp/peak.py" "$blksweep" --quiet run --data "$tmp/big" --window 16MiB --shuffle buffer \
  --batch 4 --depth 8 --merge file --buffered --no-probe --no-ceiling --json)
# window 16 MiB + batches ready or consumed (4 x 4 MiB) + queue 8 MiB + 40 MiB for everything else.
[ "$peak" -lt 80 ] || die "400 MiB of data through a window of 16 MiB: peak RSS $peak MiB"
echo "memory: peak $peak MiB"
