#!/usr/bin/env bash
# A program that knows libblksweep-loader and its one header gets every sample once, with the file's
# bytes and the folder's label; the library asks for nothing that belongs to experiments.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

build=$(dirname "$blksweep")
pull=$build/pull_program
[ -x "$pull" ] || die "$pull is not built: make test-programs"
[ "$(id -u)" = 0 ] || skip 'needs root to mount loop devices'
at_exit loopfs_remove

# check DATA ARGUMENT... : what the program printed against the files themselves
cat >"$tmp/check.py" <<'PY'
import collections, os, sys

root = os.path.realpath(sys.argv[1])
epochs = int(sys.argv[2])


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


want = {}
for folder, _, names in os.walk(root):
    for name in names:
        path = os.path.join(folder, name)
        label = os.path.relpath(path, root).split(os.sep)[0]
        with open(path, "rb") as file:
            want[path] = (label, fnv1a(file.read()))
seen = collections.Counter()
for line in sys.stdin:
    fields = line.rstrip("\n").split(" ", 4)
    if fields[0] == "batch":
        continue
    _, label, _, hashed, path = fields
    assert want[path] == (label, hashed), (path, label, hashed, want[path])
    seen[path] += 1
assert seen == collections.Counter({path: epochs for path in want}), len(seen)
PY
check() {
  local data=$1 epochs=$2
  shift 2
  "$pull" "$data" "epochs=$epochs" "$@" >"$tmp/pulled" || die "pull $*: $?"
  "$python" "$tmp/check.py" "$data" "$epochs" <"$tmp/pulled" || die "pull $*: not what the files hold"
}

for fs in ext4 xfs; do
  loopfs_make "$tmp/$fs.img" "$tmp/$fs" 400MiB "$fs" || skip "$loopfs_reason"
  call dataset make "$tmp/$fs/data" --count 300 --size lognormal:6KiB --classes 7
  expect_status 0
  for n in 1 511 4097; do
    head -c "$n" /dev/urandom >"$tmp/$fs/data/class_0001/odd_$n"
  done
  sync
  check "$tmp/$fs/data" 1 order=random
  check "$tmp/$fs/data" 2 order=lba merge=device shuffle=buffer batch=50
  check "$tmp/$fs/data" 1 order=path merge=kernel shuffle=reservoir engine=psync direct=no
  loopfs_remove
done
echo 'delivered: every sample once, its own bytes and label'

needed=$(readelf -d "$build/libblksweep-loader.so" | grep NEEDED)
if grep -E 'sqlite|fuse|hwloc|bpf' <<<"$needed"; then
  die 'the library asks for what belongs to experiments'
fi
# the classes that the header defines, from column 0: class Loader {, struct LoaderData {
declared=$(sed -nE 's/^(class|struct) ([A-Za-z]+) .*\{$/\2/p' "$(dirname "$0")/../../src/loader/loader.h" | paste -sd '|')
[[ $declared == *Loader* ]] || die 'loader.h was not understood'
symbols=$(nm -DC --defined-only "$build/libblksweep-loader.so" | grep ' [TW] ' | grep -vE "blksweep::($declared)::" || true)
[ -z "$symbols" ] || [[ $symbols == *__asan* ]] || die "more than its header says is exported: $symbols"
echo 'library: one header, no SQLite, FUSE, hwloc or BPF'

mkdir "$tmp/data"
echo one >"$tmp/data/one"
if "$pull" "$tmp/data" order=sideways 2>"$tmp/.err"; then
  die 'an unknown order was taken'
fi
grep -q 'order = "sideways": it is one of random' "$tmp/.err" || die "$(cat "$tmp/.err")"
if "$pull" "$tmp/nowhere" 2>"$tmp/.err"; then
  die 'a folder that is not there was taken'
fi
grep -q nowhere "$tmp/.err" || die "$(cat "$tmp/.err")"
echo 'refusals: one line each'
