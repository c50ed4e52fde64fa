#!/usr/bin/env bash
# The bundle runs where nothing is installed: a root that holds nothing else, one with a C library that
# is too old, as nobody, read-only, without io_uring, FIEMAP, eBPF and BTF; and says what it had to do
# without. It may lie anywhere and has the terms of all that it ships.
# Side by side: in roots of its own; one setting of the node is changed for a moment, which root does not notice.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

build=$(dirname "$blksweep")
source=$(realpath "$(dirname "$0")/../..")
! readelf -d "$blksweep" 2>/dev/null | grep -E 'lib[at]san' >/dev/null || skip 'a sanitizer build cannot be bundled'
cuda=$(grep -c 'CUDA=1' "$build/features" || true)
[ "$cuda" = 0 ] || [ -x "$build/gpu_tests" ] || skip "no $build/gpu_tests (make test-programs)"
[ -e "$build/python/blksweep/_native.so" ] || skip "no $build/python (make test-programs)"
[ -x "$build/unit_tests" ] || skip "no $build/unit_tests (make test-programs)"
[ -e /usr/share/doc/libc6/copyright ] || skip 'the licenses of the libraries are not installed'

# --- what is in it ----------------------------------------------------------------------------------
LEVEL=1 "$source/scripts/bundle.sh" "$build" 9.9 "$tmp/out" >"$tmp/said" || die "bundle.sh: $(cat "$tmp/said")"
grep -qE 'blksweep-9.9 \([0-9]+MiB\)' "$tmp/said" || die 'the size is not said'
grep -qE 'blksweep-9.9.tar.gz \([0-9.]+MiB\)' "$tmp/said" || die 'the size of the archive is not said'
root=$tmp/root
mkdir -p "$root/opt"
tar -C "$root/opt" -xzf "$tmp/out/blksweep-9.9.tar.gz"
bundle=$root/opt/blksweep-9.9
diff -r "$tmp/out/blksweep-9.9" "$bundle" || die 'the archive is not the folder'
(cd "$bundle" && sha256sum -c --quiet MANIFEST) || die 'MANIFEST'
listed=$(cut -c 67- "$bundle/MANIFEST" | sort)
[ "$listed" = "$(cd "$bundle" && find . -type f ! -name MANIFEST -printf '%P\n' | sort)" ] || die 'MANIFEST does not list all'
[ -z "$(find "$bundle" -xtype l)" ] || die 'a link that leads nowhere'
grep -q '^libc6' "$bundle/VERSIONS" || die 'VERSIONS does not name the C library'
for library in "$bundle"/lib/*; do
  readelf -d "$library" | grep SONAME >/dev/null || die "$library is no library"
  package=$(awk -v "name=${library##*/}" '$1 == name { print $2 }' "$bundle/licenses/LIBRARIES")
  [ -n "$package" ] || die "$library: licenses/LIBRARIES does not name its package"
  grep -qiE 'copyright|licen[cs]e' "$bundle/licenses/$package" || die "$library: no license of $package"
done
[ "$(wc -l <"$bundle/licenses/LIBRARIES")" = "$(find "$bundle/lib" -type f | wc -l)" ] || die 'licenses of what is not shipped'

gpu_parts=(gpu-test gpu-bench scripts/bench-gpu.sh scripts/exposed_copy.py)
for part in "${gpu_parts[@]}"; do
  if [ "$cuda" = 1 ]; then
    [ -s "$bundle/$part" ] || die "built with CUDA, and no $part"
  else
    [ ! -e "$bundle/$part" ] || die "built without CUDA, and $part is there"
  fi
done
if [ "$cuda" = 1 ]; then
  grep -q '^cuda [0-9]' "$bundle/VERSIONS" || die 'VERSIONS does not name CUDA'
fi
# The driver is the node's, its stand-in the tests' alone, and nothing of CUDA is linked in.
[ -z "$(find "$bundle" -name 'libcuda*' -o -name 'libnvidia*')" ] || die 'a library of CUDA, or the stand-in'
for program in "$bundle"/bin/*; do
  ! grep -qE 'cudart|standin_set' "$program" || [ "${program##*/}" = gpu-test ] || die "$program has the runtime or the stand-in in it"
done
echo "contents: fine; $(paste -sd' ' "$tmp/said" | sed "s#$tmp/out/##g")"

# --- anywhere, through links, from any folder, by any user -----------------------------------------------
version=$("$blksweep" --version)
moved="$tmp/a folder/moved here"
mkdir "$tmp/a folder" "$tmp/links"
mv "$bundle" "$moved"
ln -s "$moved/blksweep" "$tmp/links/sweep"
for way in "$moved/blksweep" "$tmp/links/sweep"; do
  [ "$("$way" --version)" = "$version" ] || die "started as $way"
done
[ "$(cd "$moved/bin" && ../blksweep --version)" = "$version" ] || die 'started by a relative path'
[ "$(cd / && PATH="$moved:$PATH" blksweep --version)" = "$version" ] || die 'started from PATH'
[ "$(cd "$tmp/a folder" && PATH="$tmp/links:$PATH" sweep --version)" = "$version" ] || die 'started from PATH through a link'
make_data "$tmp/models" 20
make_catalog "$tmp/models" "$tmp/models.cat"
(cd / && "$tmp/links/sweep" -q simulate "$tmp/models.cat" --model hdd-7200 >/dev/null) || die 'does not find its models'
# The Python package: the node's Python and C library, all else from the bundle.
cat >"$tmp/loop.py" <<'PY'
import sys, blksweep
print(sum(len(batch) for batch in blksweep.Loader(sys.argv[1], shuffle="reservoir", window="50%")))
mapped = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
theirs = [path for path in mapped if "/blksweep/" in path]
assert any("liburing" in path for path in theirs), theirs
assert not any("/libc.so" in path or "/libm.so" in path for path in theirs), theirs
PY
out=$(cd / && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$moved/python "$python" "$tmp/loop.py" "$tmp/models") || die 'the Python package of the bundle'
[ "$out" = 20 ] || die "the Python package of the bundle gave $out of 20 samples"
# Its own libraries and no other.
LD_DEBUG=libs LD_DEBUG_OUTPUT=$tmp/opened "$moved/blksweep" --version >/dev/null
! sed -n 's/.*calling init: //p' "$tmp"/opened.* | grep -v "^$moved/lib/" || die 'took a library of the node'
if [ "$cuda" = 1 ]; then # no GPU is shown, so that this is quick on a node that has one
  status=0
  out=$(cd / && CUDA_VISIBLE_DEVICES='' "$moved/scripts/bench-gpu.sh" 2>&1) || status=$?
  [[ $status == 0 && $out == 'SKIP: no GPU: '?* && $out != *'built without'* ]] || die 'bench-gpu.sh in a bundle'
  echo "bench-gpu.sh: $out"
fi
mv "$moved" "$bundle"
status=0
env -i "$bundle/blksweep" run --no-such-option >/dev/null 2>&1 || status=$?
[ "$status" = 2 ] || die 'the exit status is lost on the way'
begin=$(date +%s%N)
for _ in 1 2 3 4 5 6 7 8 9 10; do "$bundle/blksweep" --version >/dev/null; done
middle=$(date +%s%N)
for _ in 1 2 3 4 5 6 7 8 9 10; do "$blksweep" --version >/dev/null; done
end=$(date +%s%N)
echo "start: $(((middle - begin) / 10000)) us, $(((end - middle) / 10000)) us as built"

[ "$(id -u)" = 0 ] || skip 'an empty root needs root'

# --- a root that holds the bundle and nothing else ---------------------------------------------------------
around=() # programs that run before the root is entered
into=(chroot "$root")
# inside PROGRAM ARGUMENT... : stdout, stderr and status as in call.
inside() {
  status=0
  in_mounts "${around[@]}" "${into[@]}" "/opt/blksweep-9.9/$1" "${@:2}" >"$tmp/.out" 2>"$tmp/.err" </dev/null || status=$?
  out=$(cat "$tmp/.out")
  err=$(cat "$tmp/.err")
}
in_mounts() { env -i PATH="$PATH" "$@"; }
holds_only() { # FOLDER NAME... : in the order of their names
  [ "$(find "$1" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | paste -sd' ')" = "${*:2}" ]
}
holds_only "$root" opt || die 'the root is not empty'

# The tests of the copy stage: all that the bundle lists, and each of these among them.
copy_stage='EmulatedCopy EmulatedConsumer VirtualLink CopyLoop ComputeTime DecodeTest Codec Account AccountOfARun
  Intervals TraceEvents Engines/DeliveryTest'
inside bundle-test --gtest_list_tests
for suite in $copy_stage; do
  grep -q "^$suite\.$" "$tmp/.out" || die "bundle-test lacks $suite"
done
listed=$(grep -c '^  ' "$tmp/.out")
# passes NUMBER: the last bundle-test ran all that it lists, and so many passed.
passes() {
  expect_status 0
  [[ $listed -gt 0 && $out == *"] $listed tests from "*" ran."* ]] || die "bundle-test did not run its $listed tests"
  [[ $out == *"[  PASSED  ] $1 tests."* ]] || die "of the tests of the copy stage $1 should pass"
  echo "bundle-test: $1 of $listed passed $2"
}
skipped() { sed -n 's/^\[  SKIPPED \] \([0-9]*\) tests*\.$/\1/p' "$tmp/.out"; }
inside bundle-test --gtest_brief=1
passes "$listed" 'in an empty root'
if [ "$cuda" = 1 ]; then
  inside gpu-test --gtest_brief=1
  expect_status 0
  skipped=$(skipped)
  needs_none=$("$build/gpu_tests" --gtest_list_tests --gtest_filter='CuptiEdges.*' | grep -c '^  ')
  [[ $skipped -gt 0 && $out == *'no GPU: '* && $out == *"] $((skipped + needs_none)) tests from "* ]] || die 'gpu-test without a GPU'
  inside gpu-bench
  [[ $status == 77 && $err == *'no GPU'*'libcuda'* && -z $out ]] || die 'gpu-bench without a GPU'
  echo "gpu-test: $skipped skipped; gpu-bench: $err"
fi

# The emulated experiment, the report without Python.
emulated=(--copy emulated --copy-bandwidth 25GB/s --copy-latency 10us --consumer emulated --compute 1ms)
inside blksweep dataset make /data --count 200 --size 4KiB
expect_status 0
inside blksweep run --data /data --order random,path --repeats 2 "${emulated[@]}" --batch 32 --verify --db /results.db --quiet
expect_status 0
inside blksweep report /results.db -o /report
[[ $status == 3 && $err == 'blksweep: warning: no figures: '*'numpy and matplotlib'*'python3-matplotlib'* ]] || die 'report without Python'
[ "$(wc -l <"$tmp/.err")" = 1 ] || die 'report without Python: what is missing is one line'
holds_only "$root/report" cells.csv runs.csv || die 'report without Python: its files'
[ "$(wc -l <"$root/report/cells.csv")" = 3 ] || die 'cells.csv: a line for each of 2 cells'
[ "$(wc -l <"$root/report/runs.csv")" = 5 ] || die 'runs.csv: a line for each of 4 runs'
grep -q 'emulated' "$root/report/runs.csv" || die 'runs.csv: not the emulated copy'
holds_only "$root" data opt report results.db || die 'it left something behind'
holds_only "$root/opt" blksweep-9.9 || die 'it left something beside the bundle'
(cd "$bundle" && [ "$(find . -type f | wc -l)" = "$(($(wc -l <MANIFEST) + 1))" ]) || die 'it left something in the bundle'
rm -r "$root/data" "$root/report" "$root/results.db"
echo 'an empty root: emulated experiment, tests, report'

# --- a root with a C library that is none, a disk, later /proc, /sys and /dev ------------------------------
mkdir -p "$root/lib64" "$root/lib/x86_64-linux-gnu" "$root/tmp" "$root/data" "$root/db" "$tmp/db"
for library in "$bundle"/lib/*; do
  echo 'not this one' >"$root/lib/x86_64-linux-gnu/${library##*/}"
  echo 'not this one' >"$root/lib64/${library##*/}"
done
at_exit loopfs_remove
loopfs_make "$tmp/data.img" "$tmp/disk" 200M ext4 || skip "$loopfs_reason"
make_data "$tmp/disk/set" 200
sync -f "$tmp/disk"
chmod 755 "$tmp"
chmod 755 "$tmp/db"
chmod -R a+rX "$root" "$tmp/disk/set"

prepare=: # in a mount namespace of its own, before the root is entered
in_mounts() {
  # shellcheck disable=SC2016
  "${own_mounts[@]}" bash -c '
    set -e
    mount --bind "$2/disk/set" "$1/data"
    mount --bind "$2/db" "$1/db"
    eval "$3"
    shift 3
    exec "$@"' bash "$root" "$tmp" "$prepare" "$@"
}
# holds WHAT PYTHON: of the last run, as it was printed and as it is stored.
holds() {
  "$python" -c '
import json, sqlite3, sys
run = json.load(open(sys.argv[1]))["runs"][0]
cell, warnings = run["cell"], run["warnings"]
db = sqlite3.connect("file:" + sys.argv[2] + "?mode=ro", uri=True)
stored = dict(db.execute("SELECT name, value FROM cell_setting"))
stored_warnings = [text for text, in db.execute("SELECT text FROM warning")]
warns = lambda text: any(text in w for w in warnings) and any(text in w for w in stored_warnings)
def reads(engine, order):
    return (cell["engine"], cell["order"]) == (stored["engine"], stored["order"]) == (engine, order)
sys.exit(0 if eval("(" + sys.argv[3] + ")") else 1)' "$tmp/.out" "$tmp/db/results.db" "$2" || die "$1: not so: $2"
}
# experiment WHAT PYTHON: the emulated experiment is done and complete, and of its run that holds.
experiment() {
  rm -f "$tmp/db/"*
  inside blksweep run --data /data --verify "${emulated[@]}" --batch 32 --no-ceiling --db /db/results.db --json
  expect_status 0
  holds "$1" 'run["samples"] == 200 and run["missing_samples"] == 0 and run["wrong_samples"] == 0 and not run["incomplete"]'
  holds "$1" '(cell["copy"], cell["consumer"]) == (stored["copy"], stored["consumer"]) == ("emulated", "emulated")'
  holds "$1" 'run["utilisation"] > 0'
  holds "$1" "$2"
  echo "$1: done, and says what it went without"
}
no_ring='reads("psync", "lba") and warns("psync in place of io_uring, which is refused here") and warns("one read at a time")'
no_order='warns("path in place of lba") and warns("FIEMAP refused") and warns("reads do not follow the device")'
no_probe='warns("no probe, so no queue depth or request sizes: ") and run["requests_issued"] is None'

experiment 'no /proc, /sys and /dev' "$no_order and $no_probe and reads('io_uring', 'path') and
  warns('/sys/dev/block') and warns('no block statistics') and run['device_bytes'] is None and run['resident_before'] is not None"
inside blksweep doctor /data --json
expect_status 0
"$python" - "$tmp/.out" <<'PY' || die 'doctor in an empty root'
import json, sys
lines = {c["name"]: c for c in json.load(open(sys.argv[1]))["checks"]}
for name in ("BTF", "device", "probe", "fio", "figures"):
    assert lines[name]["state"] == "missing", lines[name]
assert "mount sysfs" in str(lines), lines
assert "unknown" in lines["memory"]["found"], lines["memory"]
assert "not installed" in lines["fio"]["found"], lines["fio"]
PY

# shellcheck disable=SC2016
prepare='mkdir -p "$1/proc" "$1/sys" "$1/dev" && mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev"'
with_all=$prepare
# What the program as built has here, the bundle has, too.
call run --data "$tmp/disk/set" --no-ceiling --json
probed=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["runs"][0]["requests_issued"] is not None)' "$tmp/.out")
experiment 'with /proc, /sys and /dev' "reads('io_uring', 'lba') and not warns('in place of') and run['device_bytes'] is not None and
  (run['requests_issued'] is not None) == $probed"

# --- refused: io_uring, FIEMAP, eBPF, BTF; each alone, then all ---------------------------------------------
io_uring_setup=425 io_uring_enter=426 bpf=321 ioctl=16 eperm=1 enosys=38 eopnotsupp=95
refuse() { # NUMBER ERRNO... : around the program, seccomp answers these calls so
  around=()
  while [ $# -gt 0 ]; do
    around+=("$python" "$refuse_call" "$1" "$2")
    shift 2
  done
}
said() { # TEXT... : in the run's warnings as they came
  local text
  for text in "$@"; do
    [[ $err == *"blksweep: warning: "*"$text"* ]] || die "not said on stderr: $text"
  done
}
no_btf="warns('no BTF')"
grep -q 'BPF=1' "$build/features" || no_btf=True # then nobody looks for it
without_btf="$with_all && mount -t tmpfs none \"\$1/sys/kernel/btf\""
[ -e /sys/kernel/btf ] || without_btf=$with_all
if "$python" "$refuse_call" $io_uring_setup $eperm true; then
  for way in "$io_uring_setup $eperm" "$io_uring_setup $enosys" "$io_uring_enter $eperm"; do
    # shellcheck disable=SC2086
    refuse $way
    experiment "io_uring refused ($way)" "$no_ring and not warns('in place of lba')"
    said 'psync in place of io_uring'
    inside blksweep run --data /data --engine io_uring,psync --no-ceiling --json
    expect_error 77 io_uring '--engine psync'
  done
  for errno in $eperm $eopnotsupp; do
    refuse $ioctl "$errno"
    experiment "FIEMAP refused ($errno)" "reads('io_uring', 'path') and $no_order and warns('FIEMAP is refused for 200 files')"
    said 'path in place of lba' 'FIEMAP is refused'
  done
  refuse $bpf $eperm
  experiment 'eBPF refused' "reads('io_uring', 'lba') and $no_probe and not warns('in place of')"
  said 'no probe, so no queue depth'
  refuse $io_uring_setup $eperm $bpf $eperm $ioctl $eopnotsupp
  prepare=$without_btf
  experiment 'all refused, no BTF' "reads('psync', 'path') and warns('psync in place of io_uring') and $no_order and $no_probe and
    $no_btf and warns('FIEMAP is refused')"
  said 'psync in place of io_uring' 'path in place of lba' 'no probe, so no queue depth'
  inside bundle-test --gtest_brief=1
  rings=$(skipped)
  [[ $rings -gt 0 && $out == *io_uring_*': Operation not permitted'* ]] || die 'the tests do not say what was refused'
  passes "$((listed - rings))" "with all refused, $rings skipped"
else
  echo 'no seccomp: refusals are not forced here'
fi
around=()
prepare=$without_btf
experiment 'no BTF' "reads('io_uring', 'lba') and $no_probe and $no_btf and not warns('in place of')"

# --- nobody, io_uring_disabled, a read-only root -------------------------------------------------------------
prepare=$with_all
chown "$nobody" "$tmp/db"
into=(chroot --userspec="$nobody:$nobody" "$root")
experiment 'nobody' "reads('io_uring', 'lba') and $no_probe"
# 1 refuses those without CAP_SYS_ADMIN only, so that root's programs elsewhere keep their rings.
disabled=/proc/sys/kernel/io_uring_disabled
if [ -w $disabled ] && [ "$(cat $disabled)" = 0 ]; then
  at_exit "echo 0 >$disabled"
  echo 1 >$disabled
  experiment 'io_uring_disabled' "$no_ring and warns('Operation not permitted') and $no_probe"
  inside blksweep doctor /data --json
  echo 0 >$disabled
  [[ $out == *'sysctl kernel.io_uring_disabled=0 (it is 1)'* ]] || die 'doctor does not name io_uring_disabled'
else
  echo "$disabled cannot be set here"
fi
if unshare --user --map-root-user true 2>/dev/null; then
  into=(setpriv --reuid="$nobody" --regid="$nobody" --clear-groups unshare --user --map-root-user chroot "$root")
  experiment 'root of a user namespace' "reads('io_uring', 'lba') and $no_probe"
fi
chown 0 "$tmp/db"
into=(chroot "$root")
prepare="mount --rbind \"\$1\" \"\$1\" && mount -o remount,bind,ro \"\$1\" && $with_all"
experiment 'a read-only root' "reads('io_uring', 'lba') and run['device_bytes'] is not None"
inside blksweep run --data /data --no-ceiling --db /tmp/none.db
[ "$status" = 1 ] || die 'a database in a read-only root'
[[ $err == *'/tmp/none.db'* ]] || die 'a read-only root: which file'
prepare="mount --rbind \"\$1\" \"\$1\" && mount -o remount,bind,ro \"\$1\""
inside bundle-test --gtest_brief=1
[[ $status == 127 && $err == 'bundle-test: no folder to write in'*'set TMPDIR'* ]] || die 'tests without a folder to write in'
around=(env TMPDIR=/db)
inside bundle-test --gtest_brief=1 --gtest_filter='DecodeTest.*'
[[ $status == 0 && $out == *'[  PASSED  ] '[1-9]* ]] || die 'tests in a read-only root, with TMPDIR'
echo 'a read-only root: no database, tests with TMPDIR'
