#!/usr/bin/env bash
# replay --writes: refused, before anything is opened for writing, for a device that is not named
# twice or that anybody uses; else what the trace writes is written, there and nowhere else.
# Side by side: on loop devices of its own; what is written is looked at.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

[ "$(id -u)" = 0 ] || skip 'needs root for a loop device'
command -v strace >/dev/null || skip 'needs strace'
strace -o "$tmp/strace" true 2>/dev/null || skip 'may not trace processes here'

# Writes and reads of 4 to 64 KiB, half and half, over 32 MiB, one beyond 64 MiB, and what is no write.
"$python" - "$tmp" <<'PY'
import random, sys
tmp = sys.argv[1]
draw = random.Random(7)
with open(f"{tmp}/mixed.csv", "w") as out, open(f"{tmp}/written", "w") as written:
    out.write("time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags,volume\n")
    for i in range(2000):
        op = draw.choice(["read", "write"])
        offset, size = draw.randrange(8192) * 4096, draw.choice([4096, 8192, 65536])
        out.write(f"{i * 100000},{op},{offset},{size},,,,,,v\n")
        if op == "write":
            written.write(f"{offset} {size}\n")
    out.write("200000000,discard,0,4096,,,,,,v\n200000000,flush,0,0,,,,,,v\n200000000,write,67108864,4096,,,,,,v\n")
PY
call trace import "$tmp/mixed.csv" -o "$tmp/mixed.trace"
expect_status 0

busy=0
new_disk() { # new_disk NAME: 64 MiB of a pattern in $device
  "$python" -c 'import sys; sys.stdout.buffer.write(b"untouched bytes.\n" * ((64 << 20) // 17 + 1))' |
    head -c 64M >"$tmp/$1.img"
  device=$(losetup --find --show "$tmp/$1.img")
  detach_at_exit "$device"
}

# --- refused -------------------------------------------------------------------------------------
# refused STATUS WORDS OPTION... : one line; no process of it opened a block device for writing
refused() {
  local wanted=$1 words=$2
  shift 2
  status=0
  rm -f "$tmp"/calls*
  strace -ff -yy -e trace=open,openat,openat2 -o "$tmp/calls" "$blksweep" --quiet replay \
    "$tmp/mixed.trace" "$@" >"$tmp/.out" 2>"$tmp/.err" || status=$?
  expect_status "$wanted"
  [ "$(wc -l <"$tmp/.err")" = 1 ] || die "not one line: $*"
  grep -q -- "$words" "$tmp/.err" || die "does not say '$words': $* $(cat "$tmp/.err")"
  grep -hE 'O_(WRONLY|RDWR).*<block ' "$tmp"/calls.* && die "opened for writing: $*"
  return 0
}
new_disk one
one=$device
new_disk two
two=$device
refused 2 'not the device that --device names' --device "$one" --writes "$two"
refused 2 'no block device' --device "$one" --writes "$tmp/one.img"
refused 1 'No such file' --device "$one" --writes /dev/none
refused 2 'does not go with it' --device "$one" --writes "$one" --fio-twin
mkdir "$tmp/folder"
exec {held}<"$one"
refused 2 'it is open in' --device "$one" --writes "$one"
exec {held}<&-
over=$(losetup --find --show --offset 1048576 "$one")
refused 2 "${over#/dev/} is on it" --device "$one" --writes "$one"
losetup -d "$over"
mkfs.ext4 -q -F "$two"
refused 2 'it holds ext4' --device "$two" --writes "$two"
mount "$two" "$tmp/folder"
at_exit "umount $tmp/folder 2>/dev/null"
refused 2 'it is mounted on' --device "$two" --writes "$two"
umount "$tmp/folder"
until wipefs --quiet --all "$two" 2>"$tmp/.err"; do # a namespace that another test made meanwhile has the mount, too
  ((++busy < 200)) || die "it stays in use: $(cat "$tmp/.err")"
  sleep 0.1
done
mkswap "$two" >/dev/null
refused 2 'it holds swap' --device "$two" --writes "$two"
wipefs --quiet --all "$two"
echo 'start=2048, size=8192' | sfdisk --quiet --no-tell-kernel "$two"
refused 2 'it holds dos' --device "$two" --writes "$two"
losetup -d "$two"
parted=$(losetup --find --show --partscan "$tmp/two.img")
detach_at_exit "$parted"
if [ -e "/sys/block/${parted#/dev/}/${parted#/dev/}p1" ]; then
  refused 2 'it has partitions' --device "$parted" --writes "$parted"
  # What was recorded below the block layer has addresses of the whole disk.
  IFS=: read -r major minor <"/sys/block/${parted#/dev/}/${parted#/dev/}p1/dev"
  mknod "$tmp/part" b "$major" "$minor"
  echo '8,0 1 1 0.000000000 697 D R 2048 + 8 [cat]' >"$tmp/whole.txt"
  call trace import "$tmp/whole.txt" -o "$tmp/whole.trace"
  for onto in "as-is $tmp/part 1" "wrap $tmp/part 1" "stack $tmp/part 0" "as-is $parted 0"; do
    read -r addresses device shifted <<<"$onto"
    call replay "$tmp/whole.trace" --device "$device" --addresses "$addresses"
    expect_status 0 3
    [ "$(grep -c 'is a partition: each request lies 1.00 MiB further on' "$tmp/.err")" = "$shifted" ] ||
      die "$onto: $(cat "$tmp/.err")"
  done
  call replay "$tmp/mixed.trace" --device "$tmp/part" # of a volume of its own, for all that is known
  ! grep -q 'is a partition' "$tmp/.err" || die 'a volume is taken for a whole disk'
fi
# Claimed by somebody who is not seen: another namespace of processes, here one who hides the name.
command -v unshare >/dev/null && {
  mknod "$tmp/hidden" b $((0x$(stat -c %t "$one"))) $((0x$(stat -c %T "$one")))
  "$python" -c '
import os, sys, time
os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)
open(sys.argv[2], "w").close()
time.sleep(60)' "$tmp/hidden" "$tmp/holds" &
  holder=$!
  for _ in $(seq 100); do
    [ -e "$tmp/holds" ] && break
    sleep 0.1
  done
  call replay "$tmp/mixed.trace" --device "$one" --writes "$one"
  kill $holder
  wait $holder 2>/dev/null || true
  expect_status 2
  grep -q 'the kernel says that it is in use' "$tmp/.err" || die 'a claim is not respected'
}
cmp -s "$tmp/one.img" <("$python" -c '
import sys
sys.stdout.buffer.write(b"untouched bytes.\n" * ((64 << 20) // 17 + 1))' | head -c 64M) ||
  die 'a refused device was written to'
echo 'refused: a line each, nothing opened for writing, nothing written'

# --- carried out ---------------------------------------------------------------------------------
cp "$tmp/one.img" "$tmp/before"
stat_of() { awk '{ print $5, $7 }' "/sys/block/${one#/dev/}/stat"; }
read -r writes_before sectors_before < <(stat_of)
call replay "$tmp/mixed.trace" --device "$one" --writes "$one" --json --db "$tmp/results.db"
expect_status 0 3
# The kernel counts a request after it has told of its end.
asked=$(awk '{ sum += $2 } END { print sum / 512 }' "$tmp/written")
for _ in {1..50}; do
  read -r writes_after sectors_after < <(stat_of)
  ((sectors_after - sectors_before < asked)) || break
  sleep 0.1
done
sync
"$python" - "$tmp" $((writes_after - writes_before)) $((sectors_after - sectors_before)) <<'PY'
import json, sys
tmp, writes, sectors = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
run = json.load(open(f"{tmp}/.out"))["runs"][0]
wanted = [tuple(map(int, line.split())) for line in open(f"{tmp}/written")]
assert run["writes"] == len(wanted), (run["writes"], len(wanted))
assert run["samples"] == 2000 and run["certificate"]["failed"] == 0, run
left = run["certificate"]["left_out"]
assert left == {"discards": 1, "flushes": 1, "writes beyond the end of the device": 1}, left
# The kernel may split a request, and counts what it gave to the device.
assert writes >= len(wanted) and sectors * 512 == sum(size for _, size in wanted), (writes, sectors)
before, after = open(f"{tmp}/before", "rb").read(), open(f"{tmp}/one.img", "rb").read()
touched = bytearray(len(before) // 4096)
for offset, size in wanted:
    for page in range(offset // 4096, (offset + size) // 4096):
        touched[page] = 1
for page, is_touched in enumerate(touched):
    same = before[page * 4096:(page + 1) * 4096] == after[page * 4096:(page + 1) * 4096]
    assert same != bool(is_touched), (page, is_touched)
PY
[ "$(sqlite3 "$tmp/results.db" 'SELECT writes FROM replay')" = "$(wc -l <"$tmp/written")" ] ||
  die 'the database does not have the writes'
read -r writes_before _ < <(stat_of)
call replay "$tmp/mixed.trace" --device "$one"
expect_status 0 3
read -r writes_after _ < <(stat_of)
[ "$writes_after" = "$writes_before" ] || die 'writes without --writes'
echo "written: $(wc -l <"$tmp/written") requests where the trace has them, and nowhere else"
