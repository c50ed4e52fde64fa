#!/usr/bin/env bash
# What others wrote takes neither time nor memory without end: sizes, sweeps and files of holes (docs/security.md).
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/stranger_helpers.bash
. "$(dirname "$0")/stranger_helpers.bash"

make_data "$mine/data" 20
at_once() { # STATUS WORDS -- ARGUMENTS: within five seconds and 2 GiB
  local wanted=$1 words=$2 status=0
  shift 3
  (ulimit -v 2097152 && exec timeout 5 "$blksweep" --quiet "$@") >"$tmp/.out" 2>"$tmp/.err" </dev/null || status=$?
  [[ $status = "$wanted" && $(cat "$tmp/.err") == *"$words"* ]] || die "$*: status $status, $(head -c 500 "$tmp/.err")"
}

# --- specs of some kilobytes -----------------------------------------------------------------------------
"$python" - "$theirs" <<'PY'
import sys
values = lambda n: ",".join(map(str, range(1, n + 1)))
write = lambda name, text: open(f"{sys.argv[1]}/{name}.toml", "w").write(text)
write("square", f"depth=[{values(1024)}]\nbatch=[{values(1024)}]\n")
write("cube", f"depth=[{values(1024)}]\nbatch=[{values(1024)}]\nwindow=[{values(5000)}]\n")
write("tables", "".join(f"[[cell]]\nbatch = {i + 1}\n" for i in range(12000)))
write("same", "[[cell]]\norder = \"lba\"\n" * 30000)
PY
for spec in square cube; do
  at_once 2 'more than 10000 cells' -- run "$theirs/$spec.toml" --data "$mine/data"
done
at_once 2 'more than 10000 cells' -- run "$theirs/tables.toml" --data "$mine/data"
at_once 1 'nowhere' -- run "$theirs/same.toml" --data "$mine/nowhere"
head -c 80K /dev/zero | tr '\0' '1' >"$theirs/table"
at_once 2 'more than the 64 KiB' -- run --data "$mine/data" --compute "table:$theirs/table"
echo 'specs: fine'

# --- databases -------------------------------------------------------------------------------------------
# A database in which one page stands many times in a tree, copied as the advice says: rows without end.
call run --data "$mine/data" --buffered --cache keep --no-probe --no-ceiling --db "$mine/bomb.db"
expect_status 0
"$python" - "$mine/bomb.db" <<'PY'
import sqlite3, struct, sys
name, page = sys.argv[1], 4096
root = sqlite3.connect(name).execute("SELECT rootpage FROM sqlite_master WHERE name = 'failed_sample'").fetchone()[0]
data = bytearray(open(name, "rb").read())
assert struct.unpack_from(">H", data, 16)[0] == page
n = len(data) // page
def interior(child):
    p = bytearray(page)
    p[0] = 5
    for i in range(500):
        at = page - 5 * (i + 1)
        struct.pack_into(">IB", p, at, child, 1)
        struct.pack_into(">H", p, 12 + 2 * i, at)
    struct.pack_into(">HHHBI", p, 1, 0, 500, page - 2500, 0, child)
    return p
leaf = bytearray(page)
cell = bytes([7, 1, 4, 1, 15, 15, 99]) + b"xy"
leaf[page - len(cell):] = cell
leaf[0] = 13
struct.pack_into(">HHHB", leaf, 1, 0, 1, page - len(cell), 0)
struct.pack_into(">H", leaf, 8, page - len(cell))
data[(root - 1) * page:root * page] = interior(n + 1)
for level in range(1, 6):
    data += interior(n + level + 1)
data += leaf
struct.pack_into(">I", data, 28, len(data) // page)
open(name, "wb").write(data)
PY
at_once 1 'is damaged' -- report "$mine/bomb.db" -o "$mine/bomb"
at_once 1 'is damaged' -- run --data "$mine/data" --buffered --cache keep --no-probe --no-ceiling --db "$mine/bomb.db"
echo 'databases: fine'

# --- files of holes -----------------------------------------------------------------------------------------
truncate -s 1G "$theirs/list"
at_once 1 'list of paths' -- cache pin --name planted --pages --dry-run --list "$theirs/list"
truncate -s 15T "$theirs/list"
at_once 1 'list of paths' -- cache pin --name planted --pages --dry-run -0 --list "$theirs/list"
install -d -o nobody "$theirs/holes"
truncate -s 15T "$theirs/holes/file"
at_once 1 'more than fit in memory' -- catalog "$theirs/holes" --records 4KiB -o "$mine/holes.cat"
at_once 0 '' -- cache warm "$theirs/holes"
if unshare --mount true 2>/dev/null; then
  # shellcheck disable=SC2016
  "${own_mounts[@]}" timeout 5 bash -c 'mount -t tmpfs -o mode=0755 none "$1" && truncate -s 4E "$1/x" &&
    ulimit -v 2097152 && "$2" --quiet cache warm "$1"' bash "$theirs/holes" "$blksweep" >/dev/null 2>&1 || die 'cache warm of a hole without end'
fi
call dataset make "$mine/plain" --count 20 --size 4KiB
call dataset pack "$mine/plain" -o "$mine/packed" --layout files
expect_status 0
truncate -s 4G "$theirs/index"
mv "$theirs/index" "$mine/packed/.blksweep-pack/index"
at_once 1 'not the index of a packed' -- run --data "$mine/packed" --decode-threads 2 --buffered --cache keep --no-probe --no-ceiling
echo 'holes: fine'

# --- a lease that its owner never gives up (fcntl(2): an open waits 45 s for it) -------------------------
printf '64 8ms\n' >"$theirs/leased"
give "$theirs/leased"
setpriv --reuid=nobody --regid=nogroup --clear-groups "$python" - "$theirs/leased" "$theirs/ready" <<'PY' &
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
open(sys.argv[2], "w").close()
signal.pause()
PY
holder=$!
at_exit end_holder
end_holder() { kill "$holder" 2>/dev/null || true; }
for ((i = 0; i < 100; ++i)); do
  [ ! -e "$theirs/ready" ] || break
  sleep 0.05
done
at_once 2 'Resource temporarily unavailable' -- run --data "$mine/data" --compute "table:$theirs/leased"
at_once 1 'Resource temporarily unavailable' -- cache pin --name planted --pages --list "$theirs/leased"
echo 'leases: fine'
