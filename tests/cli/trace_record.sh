#!/usr/bin/env bash
# trace record: what programs with a known pattern read is recorded exactly, by every call, by
# children and threads; requests of a disk as the kernel counts them; a ring that is too small is
# told; a recorder that is killed leaves a prefix and nothing attached.
# Side by side: programs and disks of its own; what was read is looked at.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

# --- refused -------------------------------------------------------------------------------------
refused() { # refused STATUS WORDS ARGUMENT...
  local wanted=$1 words=$2
  shift 2
  call trace record -o "$tmp/refused.trace" "$@"
  expect_status "$wanted"
  [ "$(wc -l <"$tmp/.err")" = 1 ] || die "not one line: $*"
  grep -q -- "$words" "$tmp/.err" || die "does not say '$words': $*"
  [ ! -e "$tmp/refused.trace" ] || die "left a file: $*"
}
refused 2 'say what to record'
refused 2 'say what to run' --files
refused 2 'say what to run' --files --
refused 2 'a power of two' --files --buffer 3MiB -- true
refused 2 'out of range' --device vda --seconds 0
refused 2 'go with --files' --device vda -- true
[ "$(id -u)" = 0 ] || skip 'the rest needs root for BPF'
call trace record --files -o "$tmp/trial.trace" -- true
[ "$status" != 77 ] || skip "$(cat "$tmp/.err")"
expect_status 0
refused 2 'No such file' --files --data "$tmp/none" -- true
refused 127 'No such file' --files -- "$tmp/none"
touch "$tmp/there"
call trace record --files -o "$tmp/there" -- true
expect_status 2
[ ! -s "$tmp/there" ] || die 'a file that was there is not as it was'
call trace record --files -o "$tmp/status.trace" -- sh -c 'exit 7'
expect_status 7
# Events have the machine's times: here they would be hours from ours, and so would time 0.
if unshare --time --monotonic 100000 --fork true 2>/dev/null; then
  printf '#!/bin/sh\nexec unshare --time --monotonic 100000 --fork -- %s "$@"\n' "$BLKSWEEP" >"$tmp/elsewhere"
  chmod +x "$tmp/elsewhere"
  blksweep=$tmp/elsewhere refused 77 'time namespace' --files -- true
fi
echo "refused: a line each, and nothing is written"

# --- reads of programs ---------------------------------------------------------------------------
mkdir -p "$tmp/data/deep/er" "$tmp/other"
for name in a deep/b deep/er/c; do
  head -c 3000000 /dev/urandom >"$tmp/data/$name"
done
cp "$tmp/data/a" "$tmp/other/a"
cp "$tmp/data/a" "$tmp/data/moving0"
cat >"$tmp/pattern.py" <<'PY'
# Reads by every call, and says which: path, offset, bytes asked, bytes returned.
import os, random, sys, threading
root, out = sys.argv[1], open(sys.argv[2], "a", buffering=1)
lock = threading.Lock()
def told(path, offset, asked, got):
    with lock:
        out.write(f"{path},{offset},{asked},{got}\n")
def plain(fd, path, n):
    at = os.lseek(fd, 0, os.SEEK_CUR)
    told(path, at, n, len(os.read(fd, n)))
def placed(fd, path, offset, n):
    told(path, offset, n, len(os.pread(fd, n, offset)))
def vectors(fd, path, sizes, offset=None):
    buffers = [bytearray(n) for n in sizes]
    at = os.lseek(fd, 0, os.SEEK_CUR) if offset is None else offset
    got = os.readv(fd, buffers) if offset is None else os.preadv(fd, buffers, offset)
    told(path, at, sum(sizes), got)
def all_calls(seed):
    draw = random.Random(seed)
    for path in ("a", "deep/b", "deep/er/c"):
        fd = os.open(f"{root}/{path}", os.O_RDONLY)
        for _ in range(50):
            draw.choice([
                lambda: plain(fd, path, draw.randrange(1, 9000)),
                lambda: placed(fd, path, draw.randrange(3100000), draw.randrange(1, 9000)),
                lambda: vectors(fd, path, [1, 50, 4000]),
                lambda: vectors(fd, path, [10] * 60, draw.randrange(2900000)),
                lambda: os.lseek(fd, draw.randrange(3000000), 0)])()
        copy = os.dup(fd)
        plain(copy, path, 100)
        os.dup2(copy, 200)
        plain(200, path, 100)
        os.close(200), os.close(copy), os.close(fd)
all_calls(1)
shared = os.open(f"{root}/a", os.O_RDONLY)
os.chdir("/")
for child in range(4):  # each inherits the descriptor and its position
    if os.fork() == 0:
        plain(shared, "a", 1000 + child)
        all_calls(10 + child)
        os._exit(0)
    os.wait()
plain(shared, "a", 4096)
def by_thread(number):
    fd = os.open(f"{root}/deep/b", os.O_RDONLY)
    for i in range(20):
        placed(fd, "deep/b", number * 10000 + i, 1 + i)
    os.close(fd)
threads = [threading.Thread(target=by_thread, args=(n,)) for n in range(200)]
[t.start() for t in threads], [t.join() for t in threads]
killed = os.fork()
if killed == 0:  # loses nothing
    all_calls(99)
    os.kill(os.getpid(), 9)
os.waitpid(killed, 0)
for number in range(3):  # a name that is new on the file that the last reads were of
    os.rename(f"{root}/moving{number}", f"{root}/moving{number + 1}")
    fd = os.open(f"{root}/moving{number + 1}", os.O_RDONLY)
    placed(fd, f"moving{number + 1}", number, 10)
    os.close(fd)
elsewhere = os.open(f"{root}/../other/a", os.O_RDONLY)
os.read(elsewhere, 5)
PY
# recorded TRACE [FORM]: path,offset,asked,returned of it, sorted
recorded() {
  call trace export "$1" --format csv -o "$tmp/.csv"
  expect_status 0
  awk -F, -v form="${2:-}" 'NR > 1 && (form == "" || $8 == form) {
    print $10 "," $3 "," $4 "," $5 }' "$tmp/.csv" | sort
}
same() { # same WHAT WANTED GOT
  cmp -s "$2" "$3" || {
    diff "$2" "$3" | head -5
    die "$1: recorded are others than were read"
  }
}
call trace record --files --data "$tmp/data" -o "$tmp/calls.trace" -- \
  "$python" "$tmp/pattern.py" "$tmp/data" "$tmp/told"
expect_status 0
sort "$tmp/told" >"$tmp/wanted"
recorded "$tmp/calls.trace" >"$tmp/got"
same 'all calls' "$tmp/wanted" "$tmp/got"
awk -F, 'NR > 1 && $9 != 0' "$tmp/.csv" | grep . && die 'exact reads are marked as inexact'
echo "calls: $(wc -l <"$tmp/got") reads of every form, by children and 200 threads, as told"

if command -v strace >/dev/null; then # an independent witness
  : >"$tmp/told"
  mv "$tmp/data/moving3" "$tmp/data/moving0"
  call trace record --files --data "$tmp/data" -o "$tmp/traced.trace" -- strace -f -qq -y \
    -o "$tmp/strace" -e trace=read,pread64,readv,preadv,preadv2 \
    "$python" "$tmp/pattern.py" "$tmp/data" "$tmp/told"
  expect_status 0
  seen=$(grep -cE "(read|preadv2?|pread64|readv)\\([0-9]+<$tmp/data/" "$tmp/strace")
  [ "$seen" = "$(recorded "$tmp/traced.trace" | wc -l)" ] ||
    die "strace saw $seen reads, $(wc -l <"$tmp/.csv") were recorded"
  echo "strace: sees as many"
fi

# More buffers than are looked at: what was asked for is not known in full, and no less than what came.
call trace record --files --data "$tmp/data" -o "$tmp/buffers.trace" -- "$python" -c '
import os, sys
os.preadv(os.open(sys.argv[1], os.O_RDONLY), [bytearray(16) for _ in range(1000)], 4096)' "$tmp/data/a"
expect_status 0
[ "$(recorded "$tmp/buffers.trace")" = 'a,4096,16000,16000' ] || die "many buffers: $(recorded "$tmp/buffers.trace")"
echo "many buffers: all that they got"

# --- io_uring ------------------------------------------------------------------------------------
if command -v fio >/dev/null; then
  (cd "$tmp/data" && fio --name=x --filename=a --rw=randread --bs=4k --size=2M --io_size=8M \
    --ioengine=io_uring --iodepth=8 --write_iolog="$tmp/fio.log" --output="$tmp/fio.out")
  grep -q " read " "$tmp/fio.log" || skip "fio has no io_uring here"
  rm "$tmp/fio.log"
  call trace record --files --data "$tmp/data" -o "$tmp/uring.trace" -- fio --name=x \
    --filename="$tmp/data/a" --rw=randread --bs=4k --size=2M --io_size=8M --ioengine=io_uring \
    --iodepth=8 --write_iolog="$tmp/fio.log" --output="$tmp/fio.out"
  expect_status 0
  awk '$3 == "read" || $2 == "read" { print "a," $(NF - 1) "," $NF "," $NF }' "$tmp/fio.log" |
    sort >"$tmp/wanted"
  recorded "$tmp/uring.trace" io_uring >"$tmp/got"
  [ -s "$tmp/wanted" ] || die 'fio logged nothing'
  same 'io_uring' "$tmp/wanted" "$tmp/got"
  echo "io_uring: $(wc -l <"$tmp/got") reads as fio logged them"
fi

# --- mappings ------------------------------------------------------------------------------------
cat >"$tmp/map.py" <<'PY'
import mmap, os, random, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
m = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
m.madvise(mmap.MADV_RANDOM)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
pages = list(range(0, 700, 3))
random.Random(4).shuffle(pages)
print(sum(m[p * 4096 + 17] for p in pages))
PY
sync
call trace record --files --data "$tmp/data" -o "$tmp/map.trace" -- \
  "$python" "$tmp/map.py" "$tmp/data/deep/er/c"
expect_status 0
recorded "$tmp/map.trace" fault >"$tmp/got"
[ -s "$tmp/got" ] || [ "$(uname -m)" != x86_64 ] || die 'no fault of a mapping was recorded'
# A page that came with another one has no fault of its own; none is told that was not touched.
awk -F, '{ page = $2 / 4096; if ($1 != "deep/er/c" || page % 3 || page >= 700) print }' \
  "$tmp/got" | grep . && die 'faults of pages that were not touched'
[ -z "$(awk -F, 'NR > 1 && $8 == "fault" && $9 != 16' "$tmp/.csv")" ] || die 'faults are not marked'
echo "mappings: $(wc -l <"$tmp/got") faults, each of a page that was touched"

# Pages that are read to be written are reads; where the mapping cannot be seen it is told.
cat >"$tmp/cow.py" <<'PY'
import mmap, os, sys, threading
fd = os.open(sys.argv[1], os.O_RDONLY)
m = mmap.mmap(fd, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
m.madvise(mmap.MADV_RANDOM)
for page in range(0, 700, 7):
    m[page * 4096] = 1
PY
call trace record --files --data "$tmp/data" -o "$tmp/cow.trace" -- \
  "$python" "$tmp/cow.py" "$tmp/data/deep/er/c"
expect_status 0
faults=$(recorded "$tmp/cow.trace" fault | wc -l)
[ "$faults" = 100 ] || [ "$(uname -m)" != x86_64 ] || die "$faults of 100 pages that were copied"
cat >"$tmp/busy.c" <<'C'
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
static volatile int done;
static void *change(void *unused)
{
	while (!done)
		munmap(mmap(0, 1 << 14, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1 << 14);
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t other;
	int fd = open(argv[1], O_RDONLY), sum = 0;
	char *m = mmap(0, 2800000, PROT_READ, MAP_PRIVATE, fd, 0);
	/* Whoever drops caches meanwhile leaves these pages where they are. */
	if (mmap(0, 2800000, PROT_READ, MAP_PRIVATE | MAP_LOCKED, fd, 0) == MAP_FAILED)
		return 1;
	madvise(m, 2800000, MADV_RANDOM);
	done = argc == 2;
	pthread_create(&other, 0, change, 0);
	for (int round = 0; round < 40; ++round) {
		madvise(m, 2800000, MADV_DONTNEED);
		for (int page = 0; page < 680; ++page)
			sum += m[page * 4096];
	}
	done = 1;
	pthread_join(other, 0);
	return sum == 42;
}
C
"${CC:-cc}" -O1 -pthread -o "$tmp/busy" "$tmp/busy.c"
# faults NAME ARGUMENT...: of busy with them: seen, and not
faults() {
  local name=$1
  shift
  rm -f "$tmp/$name.trace" # of the try before
  call trace record --files --data "$tmp/data" -o "$tmp/$name.trace" -- "$tmp/busy" "$@"
  expect_status 0
  seen=$(recorded "$tmp/$name.trace" fault | wc -l)
  call trace stat "$tmp/$name.trace" --json
  unseen=$("$python" -c '
import json, sys
print(json.load(open(sys.argv[1]))["faults_unseen"])' "$tmp/.out")
}
none_vanishes() { # as many pages come with each fault both times: they are locked in the cache
  faults quiet "$tmp/data/deep/er/c"
  all=$seen
  [ "$unseen" = 0 ] || die "$unseen faults of a program with one thread are not seen"
  faults busy "$tmp/data/deep/er/c" busy
  [ $((seen + unseen)) -ge "$all" ] || die "of $all faults $seen are seen, $unseen counted as not"
  echo "busy: $seen of $all faults seen, $unseen told"
}
in_three_tries none_vanishes
echo "mappings: 100 pages of 100 that were copied; faults under changes are seen or counted"

# --- losses --------------------------------------------------------------------------------------
cat >"$tmp/many.py" <<'PY'
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
for i in range(1000000):
    os.pread(fd, 1, i % 1000)
PY
"$blksweep" trace record --files --data "$tmp/data" --buffer 4KiB -o "$tmp/lost.trace" -- \
  "$python" "$tmp/many.py" "$tmp/data/a" 2>"$tmp/warnings"
grep -q 'lost by the recorder' "$tmp/warnings" || die 'losses are not told'
call trace stat "$tmp/lost.trace" --json
"$python" -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["lost"] > 0 and d["requests"] + d["lost"] >= 1000000, (d["requests"], d["lost"])' \
  "$tmp/.out" || die 'reads and losses are not all reads'
call trace record --files --data "$tmp/data" -o "$tmp/many.trace" -- \
  "$python" "$tmp/many.py" "$tmp/data/a"
expect_status 0
[ "$(recorded "$tmp/many.trace" | wc -l)" = 1000000 ] || die 'not all reads were recorded'
echo "losses: counted, and none with the usual ring"

# --- kill -9 -------------------------------------------------------------------------------------
attached() { # names of our programs in the kernel
  "${bpftool:-bpftool}" prog 2>/dev/null | grep -cE 'name (on_uring_submit|on_requeue) ' || true
}
bpftool=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v bpftool || true)
before=$(attached)
cat >"$tmp/slow.py" <<'PY'
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
while True:
    os.pread(fd, 1, 0)
    time.sleep(0.01)
PY
"$blksweep" -q trace record --files --data "$tmp/data" -o "$tmp/killed.trace" -- \
  "$python" "$tmp/slow.py" "$tmp/data/a" &
recorder=$!
sleep 3
kill -9 $recorder
wait $recorder 2>/dev/null || true
call trace stat "$tmp/killed.trace" --json
expect_status 3
"$python" -c '
import json, sys
assert json.load(open(sys.argv[1]))["requests"] > 50' "$tmp/.out" || die 'the prefix is too short'
for _ in $(seq 50); do
  [ "$(attached)" = "$before" ] && break
  sleep 0.1
done
[ "$(attached)" = "$before" ] || die 'programs stay attached'
echo "kill -9: the prefix reads, nothing stays attached"

# --- a disk --------------------------------------------------------------------------------------
stop_disk() { "$blksweep" -q disk stop "record-$$" || true; }
at_exit stop_disk
call disk start "record-$$" --model none --size 64MiB --json
expect_status 0
device=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["device"])' "$tmp/.out")
if command -v fio >/dev/null; then
  reads() { awk '{ print $1 }' "/sys/block/${device#/dev/}/stat"; }
  "$blksweep" -q trace record --device "$device" -o "$tmp/disk.trace" &
  recorder=$!
  for _ in $(seq 100); do
    [ -s "$tmp/disk.trace" ] && break
    sleep 0.1
  done
  sleep 0.5
  at_start=$(reads)
  rm -f "$tmp/fio.log"
  fio --name=x --filename="$device" --rw=randread --bs=4k --direct=1 --ioengine=io_uring \
    --iodepth=16 --size=60M --io_size=800M --write_iolog="$tmp/fio.log" --output="$tmp/fio.out"
  at_end=$(reads)
  sleep 0.3
  kill -INT $recorder
  wait $recorder || die 'the recorder did not end well'
  call trace export "$tmp/disk.trace" --format csv -o "$tmp/.csv"
  expect_status 0
  [ "$(grep -c ,read, "$tmp/.csv")" = $((at_end - at_start)) ] ||
    die "recorded $(grep -c ,read, "$tmp/.csv"), the kernel counts $((at_end - at_start))"
  awk '$3 == "read" || $2 == "read" { print $(NF - 1) "," $NF }' "$tmp/fio.log" | sort >"$tmp/wanted"
  awk -F, '$2 == "read" && $4 == 4096 { print $3 "," $4 }' "$tmp/.csv" | sort >"$tmp/got"
  missing=$(comm -23 "$tmp/wanted" "$tmp/got" | wc -l)
  [ "$missing" = 0 ] || die "$missing reads of fio are missing"
  untold=$(awk -F, '$2 == "read" && $6 == ""' "$tmp/.csv" | wc -l)
  [ "$untold" -le $((at_end / 100 + 1)) ] || die "$untold latencies are not told"
  echo "disk: $((at_end - at_start)) requests as the kernel counts them, those of fio among them"
fi

# --- flushes -------------------------------------------------------------------------------------
# They lie nowhere on the disk; what comes after them is recorded, too.
truncate -s 16M "$tmp/flush.img"
loop=$(losetup --find --show "$tmp/flush.img")
at_exit "losetup -d $loop"
# A disk without a write cache is sent no flushes, and this setting outlives the loop device before us.
echo 'write back' >"/sys/block/${loop#/dev/}/queue/write_cache"
"$blksweep" -q trace record --device "$loop" -o "$tmp/flush.trace" &
recorder=$!
for _ in $(seq 100); do
  [ -s "$tmp/flush.trace" ] && break
  sleep 0.1
done
sleep 0.5
"$python" - "$loop" <<'PY'
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
page = mmap.mmap(-1, 4096)
for at in range(5):
    os.pwrite(fd, page, at * 65536)
    os.fsync(fd)
    os.preadv(fd, [page], at * 65536 + 4096)
PY
sleep 0.3
kill -INT $recorder
wait $recorder || die 'the recorder of a disk with flushes did not end well'
call trace export "$tmp/flush.trace" --format csv -o "$tmp/.csv"
expect_status 0
awk -F, 'NR > 1 && ($2 == "flush" || $4 == 4096) { print $2 "," $3 "," $4 }' "$tmp/.csv" >"$tmp/got"
for at in 0 1 2 3 4; do
  printf 'write,%d,4096\nflush,0,0\nread,%d,4096\n' $((at * 65536)) $((at * 65536 + 4096))
done >"$tmp/wanted"
same 'flushes' "$tmp/wanted" "$tmp/got"
[ -z "$(awk -F, '$2 == "flush" && $6 == ""' "$tmp/.csv")" ] || die 'flushes without a latency'
echo "flushes: 5 among the writes and reads, at no address"
