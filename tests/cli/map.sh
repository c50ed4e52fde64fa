#!/usr/bin/env bash
# map: a loop device and a file, its JSON, database and report; what goes wrong says so.
# Side by side: on a loop device of its own; what is stored and said is looked at, not how fast it is.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

# expect TEXT PYTHON: holds for the document `d` of the last answer.
expect() {
  "$python" -c '
import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2]) else 1)' "$tmp/.out" "$2" || die "$1"
}
count() { "$python" -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])' "$@"; }

# --- bad input -----------------------------------------------------------------------------------
call map
expect_status 2
call map /nonexistent/disk
expect_error 1 /nonexistent/disk 'No such file'
call map "$tmp"
expect_error 2 "$tmp" 'neither a block device nor a file'
call map /dev/null
expect_error 2 'neither a block device nor a file'
head -c 20M /dev/zero >"$tmp/file"
for seconds in 0 -1 1x ''; do
  call map "$tmp/file" "--seconds=$seconds"
  expect_error 2 --seconds
done
call map "$tmp/file" --parts size,shape
expect_error 2 --parts "'shape'" revisit
touch "$tmp/there.toml"
call map "$tmp/file" --fit "$tmp/there.toml"
expect_error 2 --fit "$tmp/there.toml" 'not overwritten'
call map "$tmp/file" --fit "$tmp/both" --db "$tmp/both"
expect_error 2 --fit "would take the place of $tmp/both"
call map "$tmp/file" --db "$tmp/file"
expect_error 1 'not a blksweep database'
head -c 1M /dev/zero >"$tmp/small"
if [ "$(findmnt -nT "$tmp" -o FSTYPE)" != tmpfs ]; then
  call map "$tmp/small"
  expect_error 2 '1 MiB' '16 MiB'
fi
if head -c 20M /dev/zero >/dev/shm/blksweep-map.$$ 2>/dev/null; then
  at_exit "rm -f /dev/shm/blksweep-map.$$"
  call map "/dev/shm/blksweep-map.$$" --seconds 1 --parts size --json
  # tmpfs has O_DIRECT since Linux 6.6.
  if [ "$status" = 0 ]; then
    expect 'tmpfs is no device' 'any("not known: no block device lies below it" in w for w in d["warnings"])'
  else
    expect_error 77 O_DIRECT 'ext4'
  fi
fi
echo 'bad input: refused'

# --- a file --------------------------------------------------------------------------------------
if [ "$(findmnt -nT "$tmp" -o FSTYPE)" != tmpfs ]; then
  call map "$tmp/file" --seconds 1 --parts size,cached --json
  expect_status 0
  expect 'a file: no warning' 'any("distance in the file" in w for w in d["warnings"])'
  expect 'a file: parts' 'd["size"] and d["path_ns"] and not d["distance"] and not d["depth"]'
  echo 'a file: mapped, with a warning'
fi

# --- a device ------------------------------------------------------------------------------------
[ "$(id -u)" = 0 ] || skip 'needs root for a loop device'
truncate -s 1G "$tmp/image"
loop=$(losetup --find --show "$tmp/image" 2>/dev/null) || skip 'no loop device'
at_exit "losetup --detach $loop"
db=$tmp/maps.db

call as_nobody map "$loop"
expect_error 1 "$loop" 'needs root'

# Every byte of the image is a hole: nothing of it says anything of a disk.
call map "$loop" --seconds 1
expect_error 2 'only 0 B of 1 GiB are written' --unwritten

# How well a loop device is fitted, the node decides; status 3 says that it is not.
call map "$loop" --unwritten --seconds 6 --seed 7 --db "$db" --fit "$tmp/fit.toml" --poor-fit --json
expect_status 0 3
expect 'a poor fit is marked' '(d["fit"]["times_off"] > 1.5) == ("POOR FIT" in d["fit"]["model"]) == '"$((status == 3))"
expect 'keys' '{"device", "size_bytes", "path_ns", "rotation_ns", "distance", "size", "depth", "seek",
  "zones", "fit", "warnings", "interrupted", "map_id"} <= set(d)'
expect 'facts' 'd["size_bytes"] == 2**30 and d["seed"] == 7 and d["interrupted"] is False and d["map_id"] == 1'
expect 'distances' 'len(d["distance"]) == 32 and {r["distance_bytes"] < 0 for r in d["distance"]} == {True, False}'
expect 'percentiles' 'all(0 < r["p1_ns"] <= r["p50_ns"] <= r["p90_ns"] <= r["p99_ns"] <= r["max_ns"]
  for part in ("distance", "size", "depth") for r in d[part])'
expect 'even' 'max(r["reads"] for r in d["size"]) - min(r["reads"] for r in d["size"]) <= 1'
expect 'depths' '[r["depth"] for r in d["depth"]] == [1, 2, 4, 8, 16, 32, 64]'
expect 'no rotation in a loop device' 'd["rotation_ns"] is None and d["seek"] == []'
# How many of the 16 places the time is enough for, the disk decides; alone they have all of it.
places=$("$python" -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["zones"]))' "$tmp/.out")
((places >= 2 && places <= 16)) || die "$places places"
expect 'places' 'all(z["bytes_per_s"] > 0 for z in d["zones"])'
expect 'the fit is in the document' 'd["fit"]["checks"] and d["fit"]["model"]'
[ -s "$tmp/fit.toml" ] || die 'no model was written'
[ "$(count "$db" 'SELECT sum(records) FROM map_read')" -gt 1000 ] || die 'few reads are stored'
[ "$(count "$db" 'SELECT count(*) FROM map_read WHERE length(data) != records * 40')" = 0 ] || die 'records'
[ "$(count "$db" 'SELECT count(*) FROM map_curve WHERE kind = "zone_rate"')" = "$places" ] || die 'no rates stored'
echo 'a device: mapped, stored, fitted'

call map "$loop" --unwritten --seconds 6 --parts zone --json
expect_status 0
expect 'places of the whole device' '[z["offset"] * 16 // d["size_bytes"] for z in d["zones"]] == list(range(16))'

# Refused without --poor-fit: nothing is written, and the measurement is printed all the same.
call map "$loop" --unwritten --seconds 4 --fit "$tmp/refused.toml"
if [ "$status" = 1 ]; then
  [[ $err == *--fit:*'times off'*--poor-fit* && $out == *'reads/s'* ]] || die 'a poor fit: what is said'
  [ ! -e "$tmp/refused.toml" ] || die 'a poor fit was written'
else
  expect_status 0
  ! grep -q 'POOR FIT' "$tmp/refused.toml" || die 'a poor fit with status 0'
fi

# --- half of it written: the rest is left out -----------------------------------------------------
dd if=/dev/urandom of="$loop" bs=1M count=96 seek=32 oflag=direct conv=fsync status=none
call map "$loop" --seconds 3 --db "$tmp/half.db" --json
expect_status 0
expect 'what is left out' 'd["left_out_bytes"] == 2**30 - 96 * 2**20 and "backing file" in d["left_out_by"]'
expect 'the warning' 'any("928 MiB of 1 GiB are left out" in w for w in d["warnings"])'
[ "$("$python" -c '
import sqlite3, struct, sys
records = [r for (blob,) in sqlite3.connect(sys.argv[1]).execute("SELECT data FROM map_read")
           for r in struct.iter_unpack("<qqQqII", blob)]
low, high = 32 << 20, 128 << 20
print(len(records) > 300, all(low <= at and at + size <= high for _, _, at, _, size, _ in records))' "$tmp/half.db")" = \
  'True True' ] || die 'reads of unwritten addresses'
[ "$(count "$tmp/half.db" 'SELECT left_out_bytes FROM map')" = $((928 << 20)) ] || die 'left_out_bytes is not stored'
echo 'unwritten addresses: left out, and said'

call map "$loop" --unwritten --seconds 2 --parts distance,depth
expect_status 0
for text in '+512 KiB' '-512 KiB' 'reads/s' 'by depth'; do
  [[ $out == *"$text"* ]] || die "the tables lack '$text'"
done
[[ $out != *'by size'* ]] || die 'a table of a part that was not measured'

# --- interrupted: what was measured is kept --------------------------------------------------------
"$blksweep" --quiet map "$loop" --unwritten --seconds 600 --db "$db" --json >"$tmp/.out" 2>"$tmp/.err" &
pid=$!
# More than its own program, which may have to come from the disk before it listens to signals.
busy() { [ -e "/proc/$pid/io" ] && [ "$(sed -n 's/^read_bytes: //p' "/proc/$pid/io")" -gt 100000000 ]; }
until busy || ! kill -0 "$pid" 2>/dev/null; do
  sleep 0.05
done
kill -INT "$pid"
status=0
wait "$pid" || status=$?
out=$(cat "$tmp/.out") err=$(cat "$tmp/.err")
[ "$status" = 130 ] || die 'SIGINT: wanted 130'
expect 'interrupted, but nothing kept' 'd["interrupted"] and d["reads"] > 100 and d["map_id"] == 2'
[ "$(count "$db" 'SELECT count(*) FROM map WHERE interrupted = 1')" = 1 ] || die 'not stored as interrupted'
echo 'interrupt: kept'

# --- report of a database with maps only -----------------------------------------------------------
call report "$db" --json
expect_status 0
expect 'maps' '[m["interrupted"] for m in d["maps"]] == [False, True]'
if have_modules matplotlib numpy; then
  call report "$db" -o "$tmp/report"
  expect_status 0
  for file in report.html figures/map_heat.pdf figures/map_heat.txt figures/map_distance.svg; do
    [ -s "$tmp/report/$file" ] || die "report: no $file"
  done
  grep -q 'Latency by LBA distance' "$tmp/report/report.html" || die 'the page has no map'
  echo 'report: maps without runs'
fi

# --- a file that is read through the cache, whatever is asked for ----------------------------------
if mkfs.ext4 -q -F "$loop" 2>/dev/null && mkdir "$tmp/mnt" &&
  mount -o data=journal "$loop" "$tmp/mnt" 2>/dev/null; then
  at_exit "umount '$tmp/mnt' 2>/dev/null"
  head -c 32M /dev/urandom >"$tmp/mnt/journaled"
  sync "$tmp/mnt/journaled"
  call map "$tmp/mnt/journaled" --seconds 1 --parts size --json
  umount "$tmp/mnt"
  expect_status 0
  expect 'a map of memory' 'any("memory answered the rest" in w for w in d["warnings"])'
  echo 'a map of memory: said'
fi

# --- io_uring refused ------------------------------------------------------------------------------
if "$python" "$refuse_call" 425 1 true; then
  real=$blksweep
  printf '#!/bin/sh\nexec %s %s 425 1 %s "$@"\n' "$python" "$refuse_call" "$real" >"$tmp/without_ring"
  chmod +x "$tmp/without_ring"
  blksweep=$tmp/without_ring
  call map "$loop" --unwritten --seconds 4 --parts size,depth,zone --json
  expect_status 0
  expect 'reads without a ring' 'd["engine"] == "psync" and d["reads"] > 0 and d["size"] and d["zones"] and not d["depth"]'
  expect 'the reason is kept' 'any("io_uring is refused" in w for w in d["warnings"])'
  call map "$loop" --unwritten --seconds 1 --parts depth
  expect_error 77 'io_uring' 'depth'
  blksweep=$real
fi
