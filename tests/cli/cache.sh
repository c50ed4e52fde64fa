#!/usr/bin/env bash
# blksweep cache drop, warm and stat on ext4 over a loop device: after a drop nothing is resident and
# the next epoch really comes from the device; what cannot go is named with who holds it.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

# field EXPRESSION: of the JSON on stdout, as `j`.
field() { /usr/bin/python3 -c "import json, sys; j = json.load(open(sys.argv[1])); print($1)" "$tmp/.out"; }
# holds EXPRESSION...: each is true of the JSON.
holds() {
  local expression
  for expression in "$@"; do
    [ "$(field "bool($expression)")" = True ] || die "not true: $expression"
  done
}

# --- bad input: one clear line, whoever asks --------------------------------------------------------
for verb in stat warm drop; do
  call cache $verb "$tmp/missing"
  expect_error 1 "$tmp/missing" 'No such file or directory'
  call cache $verb /dev/null
  expect_error 1 /dev/null 'neither a file nor a folder'
done
call cache stat
expect_status 2
call cache drop --pages --inodes
expect_status 2
call cache drop --inodes "$tmp"
expect_error 77 --inodes 'whole node'
call as_nobody cache drop
expect_error 77 root 'cache drop DIR'
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ]; then
  shm=$(mktemp -d /dev/shm/blksweep-test.XXXXXX)
  at_exit "rm -rf $shm"
  echo data >"$shm/file"
  call cache drop "$shm"
  expect_error 77 tmpfs 'cannot be dropped'
  call cache stat "$shm" --json
  expect_status 0
  holds 'j["resident_share"] == 1.0' '"tmpfs" in j["warnings"][0]'
fi
mkdir "$tmp/empty"
for verb in stat warm drop; do
  call cache $verb "$tmp/empty" --json
  expect_status 0
done
call cache stat "$tmp/empty" --json
holds 'j["files"] == 0 and j["bytes"] == 0 and j["dirty_bytes"] == 0 and j["resident_share"] is None'
# Two paths with a file in both, under one name or two: together it is one.
mkdir -p "$tmp/twice/in"
head -c 8192 /dev/urandom >"$tmp/twice/in/a"
ln "$tmp/twice/in/a" "$tmp/twice/b"
head -c 4096 /dev/urandom >"$tmp/twice/in/c"
call cache stat "$tmp/twice" "$tmp/twice/in" "$tmp/twice/b" --json
holds '[t["files"] for t in j["trees"]] == [2, 2, 1] and j["files"] == 2 and j["bytes"] == 12288'
echo 'bad input: refused'

# --- an ordinary user: files of one's own are dropped, those of others are counted as unknown --------
mkdir "$tmp/own"
head -c 100000 /dev/urandom >"$tmp/own/file"
[ "$(id -u)" != 0 ] || chown -R "$nobody:$nobody" "$tmp/own"
call as_nobody cache drop "$tmp/own" --json
[ "$(stat -f -c %T "$tmp")" = tmpfs ] || expect_status 0
if [ "$(id -u)" = 0 ]; then
  mkdir "$tmp/theirs"
  echo secret >"$tmp/theirs/file"
  chmod 600 "$tmp/theirs/file"
  call as_nobody cache stat "$tmp/theirs" --json
  expect_status 3
  holds 'j["unreadable_files"] == 1 and j["resident_bytes"] is None' \
    '"Permission denied" in j["warnings"][0] and "file" in j["warnings"][0]'
  call as_nobody cache stat "$tmp/theirs/file"
  expect_error 1 "$tmp/theirs/file" 'Permission denied'
fi
echo 'ordinary user: told what is not seen'

# --- 20,000 files, dropped, read again from the device -------------------------------------------------
[ "$(id -u)" = 0 ] || skip 'needs root to mount a loop device'
at_exit loopfs_remove
loopfs_make "$tmp/image" "$tmp/mount" 900M ext4 -N 60000 || skip "$loopfs_reason"
disk=${loopfs_device#/dev/}
data=$loopfs_mount/data
# What the device has read since boot, in bytes.
device_read() {
  local -a fields
  read -ra fields <"/sys/block/$disk/stat"
  echo $((fields[2] * 512))
}

call dataset make "$data" --count 20000 --size lognormal:12KiB
expect_status 0
make_catalog "$data" "$tmp/data.cat"
call cache drop --all
expect_status 0
[[ $out == *'file pages'* ]] || die 'drop does not show the node before and after'
call cache stat "$data" --json
expect_status 0
holds 'j["files"] == 20000 and j["resident_bytes"] == 0 and j["resident_share"] == 0.0'
call run --catalog "$tmp/data.cat" --buffered --cache keep --no-probe --no-ceiling --json
expect_status 0 3
holds 'j["runs"][0]["samples"] == 20000 and j["runs"][0]["resident_before"] == 0' \
  'j["runs"][0]["device_bytes"] >= 0.99 * j["runs"][0]["bytes"]'
echo "after drop --all: residency 0 %, the next epoch read $(field 'j["runs"][0]["device_bytes"]')" \
  "bytes of $(field 'j["runs"][0]["bytes"]') from the device"

# The same files again: now resident; the drop of the tree alone does as well.
drop_of_the_tree() {
  call cache warm "$data"
  call cache drop "$data" --json
  expect_status 0
  holds 'j["trees"][0]["before"]["resident_share"] > 0.9' 'j["trees"][0]["after"]["resident_bytes"] == 0' \
    'j["trees"][0]["stayed"]["files"] == 0' 'j["trees"][0]["inodes_kept"] > 20000'
}
in_three_tries drop_of_the_tree
call run --catalog "$tmp/data.cat" --buffered --cache keep --no-probe --no-ceiling --json
expect_status 0 3
holds 'j["runs"][0]["device_bytes"] >= 0.99 * j["runs"][0]["bytes"]'
echo 'after drop DIR: the same'

# --- warm: all resident, each byte read once; inodes alone: nothing is left to read ---------------------
warm_all() {
  call cache drop
  before=$(device_read)
  call cache warm "$data" --json
  expect_status 0 3
  # Not 1.0: what the host takes back at once is told of.
  holds 'j["trees"][0]["before"]["resident_bytes"] == 0' 'j["trees"][0]["after"]["resident_share"] > 0.95' \
    "($status == 0) == (j['trees'][0]['after']['resident_bytes'] >= j['trees'][0]['bytes'])" \
    "($status == 0) == (j['trees'][0]['warnings'] == [])"
  read_bytes=$(($(device_read) - before))
  bytes=$(field 'j["trees"][0]["bytes"]')
  [ "$read_bytes" -ge "$bytes" ] || die "warm read $read_bytes of $bytes"
  [ "$read_bytes" -le $((bytes * 3 / 2 + (32 << 20))) ] || die "warm read $read_bytes for $bytes"
  echo "warm: $read_bytes bytes read for $bytes, $(field 'round(j["trees"][0]["bytes_per_s"] / 1e6)') MB/s"
}
warm_inodes() {
  call cache drop
  call cache warm --inodes "$data"
  expect_status 0
  before=$(device_read)
  find "$data" -type f -size +1000G
  [ "$(device_read)" = "$before" ] || die "stat of warmed inodes read $(($(device_read) - before)) bytes"
}
in_three_tries warm_all
in_three_tries warm_inodes
call cache drop
before=$(device_read)
find "$data" -type f -size +1000G
[ "$(device_read)" -gt "$before" ] || die 'stat after a drop read nothing: this test cannot fail'

# --- what is dirty is written, then dropped -------------------------------------------------------------
odd=$loopfs_mount/odd
mkdir "$odd"
for i in {1..100}; do
  head -c 100000 /dev/urandom >"$odd/dirty.$i"
done
(cd "$odd" && sha256sum dirty.*) >"$tmp/sums"
call cache drop "$odd" --json
expect_status 0
holds 'j["trees"][0]["before"]["dirty_bytes"] is None or j["trees"][0]["before"]["dirty_bytes"] > 0' \
  'j["trees"][0]["after"]["resident_bytes"] == 0'
call cache drop
(cd "$odd" && sha256sum --quiet -c "$tmp/sums") || die 'other bytes after the drop'
rm "$odd"/dirty.*

# --- names, links, holes ----------------------------------------------------------------------------------
head -c 1000000 /dev/urandom >"$odd/file"
ln "$odd/file" "$odd/second-name"
ln -s "$data" "$odd/link"
truncate -s 1G "$odd/sparse"
printf end >>"$odd/sparse"
call cache stat "$odd" --json
expect_status 0
holds 'j["files"] == 2' 'j["trees"][0]["other_names"] == 1' 'j["trees"][0]["links_not_followed"] == 1'
call cache drop "$odd"
expect_status 0
call cache warm "$odd" --json
expect_status 0 3
holds 'j["trees"][0]["bytes"] < 1100000' 'j["trees"][0]["after"]["resident_bytes"] < 8 << 20'
call cache stat "$odd/file" --json
holds 'min(j["trees"][0]["map"]) > 0'
call cache drop "$odd/file"
dd if="$odd/file" of=/dev/null bs=64K count=1 status=none
call cache stat "$odd/file" --json
holds 'len(j["trees"][0]["map"]) == 64' 'j["trees"][0]["map"][0] == 1.0' 'j["trees"][0]["map"][63] == 0'
LC_ALL=C call cache stat "$odd/file"
[[ $out =~ \[#[#1-7]*\.+\] ]] || die 'the bar of a partly resident file'

# --- who holds pages ------------------------------------------------------------------------------------
cat >"$tmp/hold.py" <<'PY'
"""Maps a file, touches or locks its pages, says so, and waits for a signal."""
import ctypes, mmap, os, signal, sys
path, how = sys.argv[1:]
with open(path, "r+b") as f:
    m = mmap.mmap(f.fileno(), 0)
libc = ctypes.CDLL(None, use_errno=True)
if how == "locked":
    address = ctypes.addressof(ctypes.c_char.from_buffer(m))
    assert libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(len(m))) == 0, os.strerror(ctypes.get_errno())
else:
    sum(m[at] for at in range(0, len(m), 4096))
print("ready", flush=True)
signal.pause()
PY
mkfifo "$tmp/ready"
holders=()
hold() { # PATH HOW: leaves its pid in $holder
  local ready
  /usr/bin/python3 "$tmp/hold.py" "$1" "$2" >"$tmp/ready" &
  holder=$!
  holders+=("$holder")
  end_at_exit "$holder"
  read -r ready <"$tmp/ready"
  [ "$ready" = ready ] || die "the holder of $1 did not start"
}
let_go() {
  local pid
  for pid in "${holders[@]}"; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  holders=()
}

hold "$odd/file" locked
call cache drop "$odd" --json
expect_status 3
holds 'j["trees"][0]["stayed"]["locked_files"] == 1' 'j["trees"][0]["stayed"]["bytes"] == 1000000' \
  "any(h['pid'] == $holder and h['how'] == 'locked' for h in j['trees'][0]['stayed']['named'][0]['held_by'])"
call cache drop "$odd"
expect_status 3
[[ $out == *"locked by python3"*"($holder)"* ]] || die 'the text does not name who locks'
let_go
call cache drop "$odd"
expect_status 0

hold "$odd/file" mapped
call cache drop "$odd" --json
expect_status 0
holds 'j["trees"][0]["paged_out_files"] == 1' 'j["trees"][0]["after"]["resident_bytes"] == 0'
let_go

# The kernel pages out only what a single process maps.
hold "$odd/file" mapped
hold "$odd/file" mapped
call cache drop "$odd" --json
expect_status 3
holds 'j["trees"][0]["stayed"]["mapped_files"] == 1' \
  "{h['pid'] for h in j['trees'][0]['stayed']['named'][0]['held_by']} >= {${holders[0]}, ${holders[1]}}"
let_go
echo 'who holds pages is named'

"$(dirname "$0")/../../scripts/drop-caches.sh" --pages "$odd" >"$tmp/.out"
grep -q 'resident after' "$tmp/.out" || die 'drop-caches.sh does not show what it did'
