#!/usr/bin/env bash
# trace record: ways to the bytes of a file that are no read are recorded where the kernel tells them,
# and else counted and told.
# Side by side: programs and files of its own; what was read is looked at.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

[ "$(id -u)" = 0 ] || skip 'needs root for BPF'
call trace record --files -o "$tmp/trial.trace" -- true
[ "$status" != 77 ] || skip "$(cat "$tmp/.err")"
expect_status 0
mkdir "$tmp/data"
head -c 300000 /dev/urandom >"$tmp/data/file"

# The kernel reads a mapping that is written to a file; other ways to the bytes of a file are counted.
cat >"$tmp/unseen.py" <<'PY'
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
out = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT, 0o600)
m = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
os.write(out, memoryview(m)[:100000])
if len(sys.argv) > 3:
    os.sendfile(out, fd, 0, 1000)
    os.copy_file_range(fd, out, 1000, 0, 0)
    mmap.mmap(fd, 0, flags=mmap.MAP_SHARED | 0x8000, prot=mmap.PROT_READ)  # MAP_POPULATE
PY
# A mapping that is written past the page cache: its pages are taken without a fault.
cat >"$tmp/direct.py" <<'PY'
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
out = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
m = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
if len(sys.argv) > 3:
    os.write(out, memoryview(m)[:65536])
    os.pwrite(out, memoryview(m)[:65536], 65536)
os.pwrite(out, memoryview(mmap.mmap(-1, 4096)), 0)  # of no file
PY
# Mappings that are filled after they were made, or because they are locked: no fault tells of them.
cat >"$tmp/filled.py" <<'PY'
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
for call in libc.mlock, libc.madvise, libc.mlock2:
    call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
fd = os.open(sys.argv[1], os.O_RDONLY)
size = os.fstat(fd).st_size
def mapped(flags=0):
    return libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED | flags, fd, 0)
def made(failed):
    if failed:
        sys.exit(os.strerror(ctypes.get_errno()))
if len(sys.argv) > 3:
    made(libc.mlock(mapped(), size, 0))
    made(libc.madvise(mapped(), size, 22))  # MADV_POPULATE_READ
    mapped(0x2000)  # MAP_LOCKED
else:
    made(libc.mlock2(mapped(), size, 1))  # MLOCK_ONFAULT: fills nothing
    made(libc.madvise(mapped(), size, mmap.MADV_RANDOM))
PY
program="$tmp/unseen.py"
unseen_calls() { # unseen_calls WANTED [ARGUMENT]
  rm -f "$tmp/unseen.trace"
  "$blksweep" trace record --files --data "$tmp/data" -o "$tmp/unseen.trace" -- \
    "$python" "$program" "$tmp/data/file" "$tmp/unseen.out" "${@:2}" 2>"$tmp/.warned"
  call trace stat "$tmp/unseen.trace" --json
  "$python" -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["calls_unseen"] != int(sys.argv[2]))' \
    "$tmp/.out" "$1" || die "not $1 calls that take bytes without a read"
}
unseen_calls 0
call trace export "$tmp/unseen.trace" --format csv -o "$tmp/unseen.csv"
grep -q '^[0-9]*,read,.*,fault,16,file$' "$tmp/unseen.csv" || [ "$(uname -m)" != x86_64 ] ||
  die 'what the kernel reads of a mapping is not told'
! grep -q warning "$tmp/.warned" || die 'a warning of nothing'
unseen_calls 3 all
grep -q '3 calls of sendfile, splice, copy_file_range' "$tmp/.warned" || die 'nobody is told'
program="$tmp/filled.py"
unseen_calls 0
unseen_calls 3 all
grep -q '3 calls of .* that fill a mapping' "$tmp/.warned" || die 'nobody is told of mappings that are filled'
if "$python" "$tmp/direct.py" "$tmp/data/file" "$tmp/unseen.out" 2>/dev/null; then
  program="$tmp/direct.py"
  unseen_calls 0
  unseen_calls 2 all
  grep -q '2 calls of .* with O_DIRECT' "$tmp/.warned" || die 'nobody is told of direct writes out of a mapping'
fi
# A ring of io_uring with two requests, which the caller packs into `sqes`.
cat >"$tmp/ring.py" <<'PY'
import ctypes, mmap, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
params = ctypes.create_string_buffer(120)
ring = libc.syscall(425, 2, params)
if ring < 0:
    sys.exit("io_uring_setup: " + os.strerror(ctypes.get_errno()))
tail, array = struct.unpack_from("4xI16xI", params, 40)
sq = mmap.mmap(ring, array + 8)
sqes = mmap.mmap(ring, 128, offset=0x10000000)
def submit(wait):  # both, and waits for so many completions
    struct.pack_into("2I", sq, array, 0, 1)
    struct.pack_into("I", sq, tail, 2)
    if libc.syscall(426, ring, 2, wait, 1, None, 0) != 2:
        sys.exit("io_uring_enter: " + os.strerror(ctypes.get_errno()))
PY
# A read of io_uring that asks for no completion ends without a word of the kernel.
cat >"$tmp/silent.py" <<'PY'
import ctypes, os, struct, sys
from ring import sqes, submit
fd = os.open(sys.argv[1], os.O_RDONLY)
buffer = ctypes.create_string_buffer(4000)
skips = 0x40 if len(sys.argv) > 3 else 0
struct.pack_into("=BBHiQQI", sqes, 0, 22, skips | 4, 0, fd, 100, ctypes.addressof(buffer), 4000)  # a NOP follows it
submit(1 if skips else 2)
if buffer.raw != os.pread(fd, 4000, 100):
    sys.exit("not read")
PY
program="$tmp/silent.py"
unseen_calls 0
unseen_calls 1 skips
grep -q '1 calls of .*io_uring without a completion' "$tmp/.warned" || die 'nobody is told of reads without a completion'
# The kernel picks the buffer, of 4096 bytes, when it reads: what was asked for is not known by then.
cat >"$tmp/picked.py" <<'PY'
import ctypes, os, struct, sys
from ring import sqes, submit
fd = os.open(sys.argv[1], os.O_RDONLY)
buffer = ctypes.create_string_buffer(4096)
struct.pack_into("=BBHiQQI4xQH", sqes, 0, 31, 4, 0, 1, 0, ctypes.addressof(buffer), 4096, 0, 7)  # PROVIDE_BUFFERS, then
struct.pack_into("=BBHiQQI4xQH", sqes, 64, 22, 0x20, 0, fd, 100, 0, 6000, 0, 7)
submit(2)
PY
program="$tmp/picked.py"
unseen_calls 0
call trace export "$tmp/unseen.trace" --format csv -o "$tmp/picked.csv"
grep -qE '^0,read,100,6000,4096,[0-9]+,[0-9]+,io_uring,16,file$' "$tmp/picked.csv" ||
  die "of a buffer that the kernel picks: $(cat "$tmp/picked.csv")"
echo "other ways: counted, and told"

# What is mapped through overlayfs is the file of a layer; its name is that which was opened.
mkdir "$tmp/over" "$tmp/other"
if [ "$(uname -m)" = x86_64 ] && mount -t overlay -o "lowerdir=$tmp/data:$tmp/other" none "$tmp/over" 2>"$tmp/said"; then
  at_exit "umount '$tmp/over'"
  call trace record --files --data "$tmp/over" -o "$tmp/over.trace" -- "$python" "$tmp/unseen.py" "$tmp/over/file" "$tmp/unseen.out"
  expect_status 0
  call trace export "$tmp/over.trace" --format csv -o "$tmp/over.csv"
  grep -q '^[0-9]*,read,.*,fault,16,file$' "$tmp/over.csv" || die "of a mapping through overlayfs: $(cat "$tmp/over.csv")"
  echo "overlay: mappings have the names of reads"
else
  echo "overlay: not here: $(head -n 1 "$tmp/said" 2>/dev/null)"
fi
