#!/usr/bin/env bash
# What strangers exchange between two looks of root (docs/security.md): nothing is read or made behind it.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/stranger_helpers.bash
. "$(dirname "$0")/stranger_helpers.bash"

install -d -o nobody "$theirs/places"
install -d "$mine/etc"
head -c 1M /dev/zero | tr '\0' m >"$mine/etc/image"
ln -s "$mine/etc" "$theirs/places/link"
# A folder that becomes a link to mine between two looks: the disk is never made of my file.
install -d -o nobody "$theirs/places/real"
truncate -s 1M "$theirs/places/real/image"
give "$theirs/places"
setpriv --reuid=nobody --clear-groups "$python" - "$theirs/places" <<'PY' &
import ctypes, os, sys, time
os.chdir(sys.argv[1])
exchange = lambda: ctypes.CDLL(None).renameat2(-100, b"real", -100, b"link", 2)
end = time.monotonic() + 15
while time.monotonic() < end and not os.path.exists("../enough"):
    exchange()
PY
swapper=$!
for _ in $(seq 25); do
  call disk start strangers --model none --backing "$theirs/places/real/image"
  [ "$status" = 0 ] || continue
  first=$(head -c 1 "$(sed -n 's|^strangers: \(/dev/loop[0-9]*\),.*|\1|p' "$tmp/.out")" | tr -d '\0')
  "$blksweep" --quiet disk stop strangers --force
  [ -z "$first" ] || die 'a disk was made of a file behind a link of nobody'
done
touch "$theirs/enough"
wait "$swapper"
rm "$theirs/enough"
echo 'a backing: fine'

# A link that comes and goes where everybody may put one, on the way to what root writes.
install -d -m 1777 "$tmp/shared"
install -d "$mine/private/folder"
make_data "$mine/data" 20
make_catalog "$mine/data" "$mine/data.cat"
call run --catalog "$mine/data.cat" --buffered --cache keep --no-probe --no-ceiling --db "$mine/results.db"
expect_status 0
chmod 711 "$mine"
setpriv --reuid=nobody --clear-groups "$python" - "$mine/private" "$tmp/shared/a" "$theirs/enough" <<'PY' &
import contextlib, os, sys, time
target, link, enough = sys.argv[1:]
end = time.monotonic() + 30
while time.monotonic() < end and not os.path.exists(enough):
    with contextlib.suppress(OSError):
        os.symlink(target, link)
    with contextlib.suppress(OSError):
        os.unlink(link)
PY
swapper=$!
for _ in $(seq 120); do
  call catalog "$mine/data" -o "$tmp/shared/a/folder/new.cat"
done
for _ in $(seq 30); do
  call run --catalog "$mine/data.cat" --buffered --cache keep --no-probe --no-ceiling --db "$tmp/shared/a/folder/new.db"
done
made=$(find "$mine/private/folder" -mindepth 1)
rmdir "$mine/private/folder" || die "written behind a link of nobody: $made"
for _ in $(seq 60); do
  call dataset make "$tmp/shared/a/folder/data" --count 1 --size 4KiB
done
touch "$theirs/enough"
wait "$swapper"
made=$(find "$mine/private" -mindepth 1)
[ -z "$made" ] || die "made behind a link of nobody: $made"
call catalog "$mine/data" -o "$tmp/shared/missing/new.cat"
expect_error 1 "$tmp/shared/missing is not there, and everybody may make it"
# A link of root's own leads on, also to what is not there yet.
mkdir "$mine/target"
ln -s "$mine/target" "$tmp/way"
call dataset make "$tmp/way/new/data" --count 1 --size 4KiB
expect_status 0
call catalog "$mine/data" -o "$tmp/way/absent/new.cat"
expect_error 1 'No such file or directory'
echo 'ways: fine'

# A link to a FIFO in place of one to a device.
if loop=$(losetup -f --show "$mine/etc/image" 2>/dev/null); then
  detach() { losetup -d "$loop"; }
  at_exit detach
  mkfifo "$theirs/fifo"
  ln -s "$theirs/fifo" "$theirs/one"
  ln -s "$loop" "$theirs/two"
  give "$theirs"
  setpriv --reuid=nobody --clear-groups "$python" - "$theirs" <<'PY' &
import ctypes, os, sys, time
os.chdir(sys.argv[1])
exchange = ctypes.CDLL(None).renameat2
end = time.monotonic() + 20
while time.monotonic() < end and not os.path.exists("enough-2"):
    exchange(-100, b"one", -100, b"two", 2)
PY
  swapper=$!
  for _ in $(seq 20); do
    status=0
    timeout 8 "$blksweep" --quiet map "$theirs/one" --seconds 1 --parts size -o "$mine/map.json" >/dev/null 2>&1 || status=$?
    [ "$status" -lt 124 ] || die 'map waits for a FIFO of nobody'
  done
  touch "$theirs/enough-2"
  wait "$swapper"
  echo 'a target: fine'
fi
