#!/usr/bin/env bash
# The bundle runs where nothing is installed: an empty root with a C library that is too old, no /proc,
# /sys and /dev, as nobody, read-only, without io_uring and eBPF; and says what it had to do without.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

build=$(dirname "$blksweep")
! readelf -d "$blksweep" 2>/dev/null | grep -qE 'lib[at]san' || skip 'a sanitizer build cannot be bundled'
[ -x "$build/unit_tests" ] || skip "no $build/unit_tests (make test-programs)"
[ -e /usr/share/doc/libc6/copyright ] || skip 'the licenses of the libraries are not installed'

# --- what is in it ----------------------------------------------------------------------------------
"$(dirname "$0")/../../scripts/bundle.sh" "$build" 9.9 "$tmp/out" >"$tmp/said" || die "bundle.sh: $(cat "$tmp/said")"
root=$tmp/root
mkdir -p "$root/opt" "$root/data"
tar -C "$root/opt" -xzf "$tmp/out/blksweep-9.9.tar.gz"
bundle=$root/opt/blksweep-9.9
diff -r "$tmp/out/blksweep-9.9" "$bundle" || die 'the archive is not the folder'
(cd "$bundle" && sha256sum -c --quiet MANIFEST) || die 'MANIFEST'
listed=$(cut -c 67- "$bundle/MANIFEST" | sort)
[ "$listed" = "$(cd "$bundle" && find . -type f ! -name MANIFEST -printf '%P\n' | sort)" ] || die 'MANIFEST does not list all'
[ -z "$(find "$bundle" -xtype l)" ] || die 'a link that leads nowhere'
for library in "$bundle"/lib/*; do
  readelf -d "$library" | grep -q SONAME || die "$library is no library"
done
grep -q '^libc6' "$bundle/VERSIONS" || die 'VERSIONS does not name the C library'
echo "contents: fine; $(paste -sd' ' "$tmp/said" | sed "s#$tmp/out/##g")"

# --- anywhere, through links, by any user --------------------------------------------------------------
version=$("$blksweep" --version)
ln -s "$bundle/blksweep" "$tmp/link"
for way in "$bundle/blksweep" "$tmp/link"; do
  [ "$("$way" --version)" = "$version" ] || die "started as $way"
done
[ "$(cd "$bundle/bin" && ../blksweep --version)" = "$version" ] || die 'started by a relative path'
mkdir "$tmp/a folder"
mv "$bundle" "$tmp/a folder/moved"
[ "$("$tmp/a folder/moved/blksweep" --version)" = "$version" ] || die 'cannot be moved'
make_data "$tmp/models" 20
make_catalog "$tmp/models" "$tmp/models.cat"
"$tmp/a folder/moved/blksweep" -q simulate "$tmp/models.cat" --model hdd-7200 >/dev/null || die 'does not find its models'
mv "$tmp/a folder/moved" "$bundle"
# Its own libraries and no other.
LD_DEBUG=libs LD_DEBUG_OUTPUT=$tmp/opened "$bundle/blksweep" --version >/dev/null
! sed -n 's/.*calling init: //p' "$tmp"/opened.* | grep -v "^$bundle/lib/" || die 'took a library of the node'
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

# --- an empty root ---------------------------------------------------------------------------------------
# What stands where a node's C library is must not be touched: this one is none at all.
mkdir -p "$root/lib64" "$root/lib/x86_64-linux-gnu" "$root/tmp"
for library in "$bundle"/lib/*; do
  echo 'not this one' >"$root/lib/x86_64-linux-gnu/${library##*/}"
  echo 'not this one' >"$root/lib64/${library##*/}"
done
at_exit loopfs_remove
loopfs_make "$tmp/data.img" "$tmp/disk" 200M ext4 || skip "$loopfs_reason"
make_data "$tmp/disk/set" 200
sync -f "$tmp/disk"

refuse() { # NUMBER ERRNO: around the program, seccomp answers this call so
  around=("$python" "$refuse_call" "$1" "$2")
}
prepare=: # in the mount namespace, before the root is entered
into=(chroot "$root")
around=()
# inside PROGRAM ARGUMENT... : in a mount namespace of its own; stdout, stderr and status as in call.
inside() {
  status=0
  # shellcheck disable=SC2016
  unshare --mount --propagation private bash -c '
    set -e
    mount --bind "$2/set" "$1/data"
    eval "$3"
    shift 3
    exec "$@"' bash "$root" "$tmp/disk" "$prepare" "${around[@]}" "${into[@]}" "/opt/blksweep-9.9/$1" "${@:2}" \
    >"$tmp/.out" 2>"$tmp/.err" </dev/null || status=$?
  out=$(cat "$tmp/.out")
  err=$(cat "$tmp/.err")
}
expect() { # WHAT PYTHON: of the last run
  "$python" -c '
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
cell, warnings = run["cell"], run["warnings"]
warns = lambda text: any(text in w for w in warnings)
sys.exit(0 if eval("(" + sys.argv[2] + ")") else 1)' "$tmp/.out" "$2" || die "$1: not so: $2"
}
# experiment WHAT PYTHON: the emulated experiment ends well, and of its run that holds.
experiment() {
  inside blksweep run --data /data --verify --copy host --compute 1ms --batch 32 --no-ceiling --json "${@:3}"
  expect_status 0
  expect "$1" 'run["samples"] == 200 and run["missing_samples"] == 0 and run["wrong_samples"] == 0 and not run["incomplete"]'
  expect "$1" 'cell["consumer"] == "emulated" and run["utilisation"] > 0'
  expect "$1" "$2"
  echo "$1: done, and says what it went without"
}

inside bundle-test --gtest_brief=1
expect_status 0
[[ $out == *PASSED* && $out != *' 0 tests'* ]] || die 'the tests of the copy stage'
echo "bundle-test: $(grep PASSED "$tmp/.out")"

experiment 'nothing but the bundle' 'cell["order"] == "path" and warns("path in place of lba") and warns("no probe") and
  warns("/sys/dev/block") and run["device_bytes"] is None and run["resident_before"] is not None'
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
inside blksweep run --data /data --order random,path --repeats 2 --db /tmp/results.db --quiet
expect_status 0
inside blksweep report /tmp/results.db -o /tmp/report
[[ $status == 3 && $err == *'no figures'* ]] || die 'report without Python'
[ -s "$root/tmp/report/runs.csv" ] || [ -n "$(ls "$root/tmp/report")" ] || die 'no tables without Python'

# shellcheck disable=SC2016
prepare='mkdir -p "$1/proc" "$1/sys" "$1/dev" && mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev"'
experiment 'with /proc, /sys and /dev' 'cell["order"] == "lba" and not warns("in place of") and run["device_bytes"] is not None'

# --- refused: io_uring, BTF, eBPF, FIEMAP -------------------------------------------------------------------
if "$python" "$refuse_call" 425 1 true; then
  for way in '425 1' '425 38' '426 1'; do
    # shellcheck disable=SC2086
    refuse $way
    experiment "io_uring refused ($way)" 'cell["engine"] == "psync" and warns("psync in place of io_uring, which is refused here")'
    inside blksweep run --data /data --engine io_uring,psync --no-ceiling --json
    expect_error 77 io_uring '--engine psync'
  done
  refuse 321 1
  experiment 'eBPF refused' 'warns("no probe") and run["requests_issued"] is None and cell["engine"] == "io_uring"'
  refuse 16 1
  experiment 'FIEMAP refused' 'cell["order"] == "path" and warns("FIEMAP is refused for 200 files") and warns("path in place of lba")'
else
  echo 'no seccomp: refusals are not forced here'
fi
around=()
with_all=$prepare
if [ -e /sys/kernel/btf ]; then
  prepare="$with_all && mount -t tmpfs none \"\$1/sys/kernel/btf\""
  experiment 'no BTF' 'warns("no BTF") and cell["order"] == "lba" and run["requests_issued"] is None'
fi

# --- nobody, in a read-only root ------------------------------------------------------------------------------
chmod 755 "$tmp"
chmod -R a+rX "$root" "$tmp/disk/set"
prepare="mount --rbind \"\$1\" \"\$1\" && mount -o remount,bind,ro \"\$1\" && $with_all"
experiment 'a read-only root' 'cell["order"] == "lba" and run["device_bytes"] is not None'
inside blksweep run --data /data --no-ceiling --db /tmp/none.db
[ "$status" = 1 ] || die 'a database in a read-only root'
[[ $err == *'/tmp/none.db'*[Rr]ead-only* || $err == *'/tmp/none.db'* ]] || die 'a read-only root: which file'
prepare=$with_all
into=(chroot --userspec=65534:65534 "$root")
experiment 'nobody' 'warns("no probe") and cell["order"] == "lba"'
if unshare --user --map-root-user true 2>/dev/null; then
  into=(setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user chroot "$root")
  experiment 'root of a user namespace' 'warns("no probe")'
fi
