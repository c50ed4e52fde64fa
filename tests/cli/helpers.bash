# shellcheck shell=bash disable=SC2034
# For the tests of the command line; to be sourced. Each test gets an empty folder $tmp that goes when
# it ends, and `call`, which runs the program and leaves $status, $out and $err.

blksweep=$(realpath "${BLKSWEEP:-build/blksweep}")
python=/usr/bin/python3
# refuse_call NUMBER ERRNO PROGRAM...: seccomp answers that call so; 99 where there is no seccomp
refuse_call=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../support/refuse_call.py")
# An ordinary user of this test alone: locked memory is counted for all processes of a user together.
nobody=$((100000 + $$))
tmp=$(mktemp -d "${TMPDIR:-/tmp}/blksweep-test.XXXXXX")
# In front of a command: in a mount namespace of its own, which holds no other test's disks.
own_mounts=("$(dirname "$refuse_call")/own_mounts.sh" "$tmp")
status=0
out=
err=
cleanups=()

# Later ones first, as mounts need it.
finish() {
  local i
  for ((i = ${#cleanups[@]} - 1; i >= 0; i--)); do
    eval "${cleanups[$i]}" || true
  done
  rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# have_modules NAME... : of Python; found, not loaded, which takes a second of PyTorch.
have_modules() {
  "$python" -Ic 'import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))' "$@"
}

at_exit() { cleanups+=("$1"); }
# end_at_exit PID : a child of the test, if it is still there; once it was waited for, its number may be another's.
end_at_exit() { at_exit "! grep -qs '^PPid:[[:space:]]*$$\$' /proc/$1/status || kill $1"; }

# detach_at_exit LOOP : while it is on a file of this test; once it is detached, its number may be another test's disk.
detach_at_exit() { at_exit "detach_own '$1' '$(cat "/sys/block/${1#/dev/}/loop/backing_file")'"; }
detach_own() { [ "$(cat "/sys/block/${1#/dev/}/loop/backing_file" 2>/dev/null)" != "$2" ] || losetup --detach "$1"; }

skip() {
  echo "SKIP: $1"
  exit 77
}

die() {
  echo "FAILED: $*" # first, too: of a failed landing the beginning is shown
  printf '  status %s\n  stdout: %s\n  stderr: %s\n' "$status" "$(head -n 40 <<<"$out")" "$err"
  grep -E '"(incomplete|ratio)_reason": "[^"]' <<<"$out" || true # why, of a long answer
  echo "FAILED: $*"  # last: of long output the end is shown
  exit 1
}

# call [as_nobody] ARGUMENT... : notes and warnings are off, so that what stands on stderr is the error.
call() {
  local -a command=("$blksweep")
  if [ "${1:-}" = as_nobody ]; then
    shift
    unprivileged
  fi
  if [[ "${1:--}" != -* ]]; then
    command+=(--quiet)
  fi
  for _ in 1 2 3; do
    status=0
    "${command[@]}" "$@" >"$tmp/.out" 2>"$tmp/.err" </dev/null || status=$?
    out=$(cat "$tmp/.out")
    err=$(cat "$tmp/.err")
    [[ $status = 3 && $out =~ $machine_stood_still ]] || break
  done
}
# The only reason why a run is incomplete, and none that a test makes with `call` (those that freeze a run have it in the
# background): once more.
machine_stood_still='(: |")this process stood still for [^;]*, and its clock did not($|[^;])'

# background ARGUMENT... : the program beside us, its pid in $pid, until `ended`.
# A test that fails ends it, and waits for it, before what it set up is taken down.
background() {
  "$blksweep" --quiet "$@" >"$tmp/.out" 2>"$tmp/.err" &
  pid=$!
  at_exit "wait $pid"
  end_at_exit "$pid"
}
ended() {
  status=0
  wait "$pid" || status=$?
  out=$(cat "$tmp/.out") err=$(cat "$tmp/.err")
}

inflight() { awk '{ print $1 + $2 }' "/sys/block/${1#/dev/}/inflight"; } # DEVICE
sectors_read() { awk '{ print $3 }' "/sys/block/${1#/dev/}/stat"; } # DEVICE
# until_read DEVICE SECTORS PROCESS : until the disk has given so many more, to a process that is still there.
until_read() {
  local before
  before=$(sectors_read "$1")
  until [ "$(($(sectors_read "$1") - before))" -gt "$2" ]; do
    kill -0 "$3" 2>/dev/null || die 'ended before it was disturbed'
    sleep 0.02
  done
}

# paced_trace COUNT BYTES TRACE : a read every 10 ms, 64 KiB apart.
paced_trace() {
  "$python" - "$1" "$2" >"$tmp/paced.csv" <<'PY'
import sys
count, size = map(int, sys.argv[1:])
print("time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags,volume")
for i in range(count):
    print(f"{i * 10000000},read,{i * 65536},{size},,,,,,v")
PY
  call trace import "$tmp/paced.csv" -o "$3"
  expect_status 0
}

# For root: an ordinary user runs a copy, because the build folder may lie where others may not look.
unprivileged() {
  if [ "$(id -u)" = 0 ]; then
    chmod 755 "$tmp"
    [ -x "$tmp/.blksweep" ] || cp "$blksweep" "$tmp/.blksweep"
    command=(setpriv --reuid="$nobody" --regid="$nobody" --clear-groups "$tmp/.blksweep")
  fi
}

expect_status() {
  local wanted
  for wanted in "$@"; do
    [ "$status" != "$wanted" ] || return 0
  done
  die "wanted status $*"
}

# expect_error STATUS TEXT... : one line on stderr that holds each of the texts, nothing on stdout.
expect_error() {
  local text wanted=$1
  shift
  expect_status "$wanted"
  [ -z "$out" ] || die "an error prints nothing on stdout"
  [ "$(wc -l <"$tmp/.err")" = 1 ] || die "an error is one line"
  [[ $err == "blksweep: "* ]] || die "the error does not begin with the program's name"
  for text in "$@"; do
    [[ $err == *"$text"* ]] || die "the error does not say '$text'"
  done
}

# make_data DIR COUNT: files of 4 KiB.
make_data() {
  call dataset make "$1" --count "$2" --size 4KiB
  expect_status 0
}

make_catalog() {
  call catalog "$1" -o "$2"
  expect_status 0
}

# engines all|direct|buffered: the words of --engine, as the program has them: all; those that can read past the
# page cache; those that cannot. One that polls a device aside, which needs a disk of its own.
engines() {
  local every word kind
  every=$({ "$blksweep" run --data /nowhere --engine '?' 2>&1 || true; } | sed 's/.*is not one of //; s/,//g')
  for word in $every; do
    kind=direct
    [[ $word != *-iopoll ]] || continue
    "$blksweep" run --data /nowhere --engine "$word" --direct --dry-run >/dev/null 2>&1 || kind=buffered
    [[ $1 != all && $1 != "$kind" ]] || echo "$word"
  done | paste -sd ' '
}

# turn_at_tunables -x|-s : tunables of memory are the whole node's: who changes them (-x) and who looks whether they are as before (-s)
# take turns, until let_tunables_go or the end of the test
turn_at_tunables() { exec {tunables}</proc/sys/vm/vfs_cache_pressure && flock "$@" "$tunables"; }
let_tunables_go() { flock --unlock "$tunables"; }

# in_three_tries FUNCTION: for what holds only while cached pages and inodes stay where they are; the
# host of a virtual machine that takes memory back meanwhile spoils a try.
in_three_tries() {
  local failed try
  for try in 1 2 3; do
    set +e
    (
      set -e
      "$1"
    )
    failed=$?
    set -e
    [ "$failed" != 0 ] || return 0
    echo "try $try of $1 failed"
  done
  exit 1
}

# expect TEXT PYTHON: holds for `runs` of the last answer, and for `run`, the first of them.
expect() {
  "$python" -c '
import json, sys
doc = json.load(open(sys.argv[1]))
runs = doc["runs"]
run = runs[0]
sys.exit(0 if eval("(" + sys.argv[2] + ")") else 1)' "$tmp/.out" "$2" || die "$1"
}
