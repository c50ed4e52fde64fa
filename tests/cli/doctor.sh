#!/usr/bin/env bash
# What doctor says agrees with what a run then does: each lack is forced in turn, doctor is asked, runs
# are made in the same surroundings, and the two are compared line by line.
# Side by side: two answers about the same surroundings are compared, and no caches.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

program=$blksweep
around=() # what the program is started through

# --- anybody ------------------------------------------------------------------------------------
call doctor /no/such/path
expect_error 1 '/no/such/path' 'No such file'
call doctor /dev/null
expect_error 1 '/dev/null' 'neither a folder'
mkdir "$tmp/none"
call doctor "$tmp/none"
expect_status 1
[[ $out == *'missing  files'*'no files below'*'cannot begin'* ]] || die 'an empty folder is not ready'
call run --data "$tmp/none" --json
expect_error 1 'no samples'
make_data "$tmp/small" 20
call doctor "$tmp/small"
expect_status 0
[ "$(wc -l <"$tmp/.out")" -le 60 ] || die 'longer than a screen'
awk 'length($0) > 100 && !/\/.{60}/ { bad = 1 } END { exit bad }' "$tmp/.out" || die 'wider than 100'
call doctor "$tmp/small" --json
expect_status 0
"$python" - "$tmp/.out" <<'PY' || die 'the JSON is not as documented'
import json, sys
answer = json.load(open(sys.argv[1]))
assert list(answer) == ["checks", "ready"] and answer["ready"] is True
names = [c["name"] for c in answer["checks"]]
assert len(names) == len(set(names)) and len(names) > 20
for c in answer["checks"]:
    assert list(c) == ["name", "state", "found", "consequence", "fix"], c
    assert c["state"] in ("ok", "limited", "missing") and c["found"], c
    assert (c["state"] == "ok") == (not c["consequence"]) == (not c["fix"]), c
PY
before=$(find "$tmp/small" -printf '%p %s %T@ %C@\n' | sort)
call doctor "$tmp/small"
[ "$before" = "$(find "$tmp/small" -printf '%p %s %T@ %C@\n' | sort)" ] || die 'doctor changed the folder'
echo 'bad paths, text, JSON, no trace: fine'

[ "$(id -u)" = 0 ] || skip 'forcing the lacks needs root'
at_exit loopfs_remove

# --- doctor and runs side by side -----------------------------------------------------------------
# answer FILE ARGUMENT... : in the surroundings; exit status into FILE.status.
answer() {
  local file=$1 code=0
  shift
  "${around[@]}" "$program" --quiet "$@" >"$file" 2>"$file.err" </dev/null || code=$?
  echo "$code" >"$file.status"
}

# agree WHAT DIR NAME=STATE... : lines that must be so here; all others must agree whatever they say.
agree() {
  local what=$1 data=$2
  shift 2
  out='' err='' # of calls before, nothing of which belongs to what is said here
  answer "$tmp/doctor" doctor "$data" --json
  answer "$tmp/default" run --data "$data" --no-ceiling --json
  answer "$tmp/named" run --data "$data" --engine io_uring --no-probe --no-ceiling --json
  answer "$tmp/cold" run --data "$data" --order lba --engine psync --merge device --cache cold --no-probe \
    --no-ceiling --json
  answer "$tmp/main" run --data "$data" --order path --engine psync --no-probe --no-ceiling --fio-twin --json
  "$python" "$tmp/agree.py" "$tmp" "$@" || die "$what: doctor and run do not agree"
  echo "$what: agree"
}

cat >"$tmp/agree.py" <<'PY'
import json, sys

folder, wanted = sys.argv[1], dict(w.split("=") for w in sys.argv[2:])
bad = []

class Run:
    def __init__(self, name):
        self.status = int(open(f"{folder}/{name}.status").read())
        self.err = open(f"{folder}/{name}.err").read()
        text = open(f"{folder}/{name}").read()
        runs = json.loads(text)["runs"] if text else []
        self.run = runs[0] if runs else None
        self.name = name
    def warns(self, text):
        return any(text in w for w in self.run["warnings"])

def check(holds, text):
    if not holds:
        bad.append(text)

answer = json.load(open(f"{folder}/doctor"))
lines = {c["name"]: c for c in answer["checks"]}
state = {name: c["state"] for name, c in lines.items()}
default, named, cold, main = (Run(n) for n in ("default", "named", "cold", "main"))

for name, s in wanted.items():
    check((str(answer["ready"]) if name == "ready" else state[name]) == s, f"{name} is not {s}")

status = int(open(f"{folder}/doctor.status").read())
check((status == 0) == answer["ready"], "exit status and ready")
check(answer["ready"] == (main.run is not None), "ready: the main job")
if main.run:
    warned = main.warns("RLIMIT_NOFILE leaves")
    check(warned == (state["descriptors"] == "limited"), "descriptors: warning")
    check(main.warns("no block statistics") == (state["filesystem"] != "ok"), "filesystem: warning")
    check((main.run["device_bytes"] is None) == (state["device"] == "missing"), "device: statistics")
    check(main.warns("O_DIRECT is refused") == (state["direct I/O"] != "ok"), "direct I/O")
    check((main.run["resident_before"] is None) == (state["residency"] == "missing"), "residency")
    check(main.warns("LBA order falls back") == (state["FIEMAP"] != "ok"), "FIEMAP")
    # A twin that something disturbed has no ratio either, and says why: only a missing one is doctor's.
    fio = main.run["fio"]
    check((fio is None) == (state["fio"] == "missing"), "fio")
    check(main.warns("no fio twin") == (fio is None), "fio: warning")
    check((main.run["fio_ratio"] is None) == (fio is None or fio["ratio_reason"] != ""), "fio: ratio")
if default.run:
    no_ring, cell = state["io_uring"] == "missing", default.run["cell"]
    check(default.warns("psync in place of io_uring") == no_ring, "io_uring: warning of psync")
    check(cell["engine"] == ("psync" if no_ring else "io_uring"), "io_uring: the cell's engine")
    check((named.run is None) == no_ring, "io_uring: named")
    check(not no_ring or named.status == 77 and "--engine psync" in named.err, "io_uring: exit status")
    no_address = state["FIEMAP"] != "ok"
    check(default.warns("path in place of lba") == no_address, "FIEMAP: warning of path order")
    check(cell["order"] == ("path" if no_address else "lba"), "FIEMAP: the cell's order")
    check(default.warns("refused by the kernel") == (state["io_uring"] == "limited"), "io_uring: refusals")
    watched = default.run["requests_issued"] is not None
    check(watched == (state["probe"] == "ok"), "probe")
    check(watched or default.warns(lines["probe"]["found"].split(":")[0]) or default.warns("no block device"),
          "probe: its reason")
    if state["probe"] == "ok":
        partial = any(default.warns(c) for c in ("not counted", "count twice", "stays 0"))
        check(partial == (state["probe programs"] != "ok"), "probe programs")
elif state["files"] == "missing":
    check(default.status == 1 and lines["files"]["found"] in default.err, "files: exit status and reason")
elif state["descriptors"] != "ok":
    check(default.status == 1 and "RLIMIT_NOFILE" in default.err, "descriptors: exit status")
else:
    check(False, "no default run")
if cold.run:
    reads_device = cold.run["device_fallbacks"] == 0 and not cold.warns("merge=device")
    check(reads_device == (state["device reads"] == "ok"), "device reads")
    check(cold.warns("only file data was evicted") == (state["drop caches"] != "ok"), "drop caches")
for text in bad:
    print("  disagree:", text)
if bad:
    print(json.dumps([c for c in answer["checks"] if c["state"] != "ok"], indent=1))
    for r in (default, cold, main):
        print(" ", r.name, r.status, r.err.strip(), r.run and r.run["warnings"])
sys.exit(1 if bad else 0)
PY

agree 'as root, where temporary files are' "$tmp/small" ready=True

# --- all there: ext4 on a loop device ----------------------------------------------------------------
loopfs_make "$tmp/disk.img" "$tmp/disk" 200M ext4 || skip "$loopfs_reason"
data=$loopfs_mount/data
make_data "$data" 300
sync -f "$data"
agree 'as root on ext4' "$data" ready=True 'stacked on=limited'
call doctor "$loopfs_device"
expect_status 0
[[ $out == *"$loopfs_device"* ]] || die 'a device is not named'
grep -q '^ok  *direct I/O' "$tmp/.out" || die 'a device that can be read past the page cache is said not to be'
losetup --direct-io=off "$loopfs_device"
call doctor "$data" --json
losetup --direct-io=on "$loopfs_device"
[[ $out == *"\"losetup --direct-io=on $loopfs_device\""* ]] || die 'the fix for a second cache is no command'
out=''

# --- no BTF: an empty file over it, in a mount namespace of its own ------------------------------------
: >"$tmp/empty"
if unshare -m mount --bind "$tmp/empty" /sys/kernel/btf/vmlinux 2>"$tmp/said"; then
  # shellcheck disable=SC2016
  around=("${own_mounts[@]}" sh -c 'mount --bind "$0" /sys/kernel/btf/vmlinux && exec "$@"' "$tmp/empty")
  agree 'no BTF' "$data" ready=True BTF=missing 'probe programs=missing' probe=missing
else
  echo "no BTF: not forced here: $(cat "$tmp/said")"
fi

# --- not root: files of another user, then its own ------------------------------------------------------
unprivileged
program=$tmp/.blksweep
around=(setpriv --reuid="$nobody" --regid="$nobody" --clear-groups)
agree 'not root' "$data" ready=True probe=missing 'probe programs=missing' 'device reads=limited' \
  'drop caches=limited' residency=missing 'emulated disk=missing' 'cgroup memory=missing'
answer "$tmp/start" disk start doctor-test --model none --size 100MiB
[ "$(cat "$tmp/start.status")" = 77 ] || die 'not root: disk start goes on'
chown -R "$nobody:$nobody" "$data"
agree 'not root, own files' "$data" ready=True residency=ok
answer "$tmp/doctor" doctor "$loopfs_device"
[ "$(cat "$tmp/doctor.status")" = 1 ] || die 'not root: the device can be read'
chmod 700 "$data"
chown -R 0:0 "$data"
agree 'a folder that may not be read' "$data" ready=False files=missing
chmod 755 "$data"

# --- small limits --------------------------------------------------------------------------------------
# More than the default window, so that a run needs all of it.
call dataset make "$loopfs_mount/big" --count 90 --size 1MiB
expect_status 0
# locked WHAT STATE: the line is so, and a run on the large data is refused its buffers or not.
locked() {
  local refused=1
  answer "$tmp/doctor" doctor "$loopfs_mount/big"
  grep -q "^$2 *locked memory" "$tmp/doctor" || die "$1: locked memory is not $2"
  answer "$tmp/large" run --data "$loopfs_mount/big" --no-probe --no-ceiling --json
  grep -q 'refused by the kernel: fixed_buffers' "$tmp/large" || refused=0
  [ "$refused" = "$([ "$2" = ok ]; echo $?)" ] || die "$1: registered buffers are another matter in a run"
  echo "$1: agree"
}
locked 'memlock as it is, not root' "$([ "$(ulimit -l)" = unlimited ] && echo ok || echo limited)"
around=(prlimit --memlock=32768 setpriv --reuid="$nobody" --regid="$nobody" --clear-groups)
agree 'memlock 32 KiB' "$data" ready=True 'locked memory=limited' io_uring=limited
locked 'memlock 32 KiB' limited
around=(prlimit --memlock=0 setpriv --reuid="$nobody" --regid="$nobody" --clear-groups)
agree 'memlock 0' "$data" ready=True 'locked memory=limited'
program=$blksweep
around=(prlimit --memlock=4096)
agree 'memlock 4 KiB as root' "$data" ready=True 'locked memory=ok'
locked 'memlock 4 KiB as root' ok
rm -r "$loopfs_mount/big"
around=(prlimit --nofile=200)
agree '200 descriptors' "$data" ready=True descriptors=limited
around=(prlimit --nofile=45)
agree '45 descriptors' "$data" ready=True descriptors=limited
around=(prlimit --nofile=16)
agree '16 descriptors' "$data" ready=False descriptors=missing

# --- a memory limit of the group that it runs in: the node's memory is not to be had ---------------------
if "$blksweep" --quiet node exec --memory-limit 192MiB -- true 2>/dev/null; then
  around=("$blksweep" --quiet node exec --memory-limit 192MiB --)
  answer "$tmp/doctor" doctor "$data" --json
  "$python" - "$tmp/doctor" <<'PY' || die 'the limit of the group is not the memory that there is'
import json, sys
line = next(c for c in json.load(open(sys.argv[1]))["checks"] if c["name"] == "memory")
assert line["state"] == "limited" and "cgroup limit 192 MiB" in line["found"], line
PY
  echo 'a limit of the group: said'
else
  echo 'a limit of the group: none can be set here'
fi

# --- no fio, no figures --------------------------------------------------------------------------------
around=(env PATH="$tmp/none" BLKSWEEP_PATH="$tmp/none")
agree 'no fio' "$data" ready=True fio=missing
call run --data "$data" --no-probe --no-ceiling --db "$tmp/a.db" --json
expect_status 0
around=(env BLKSWEEP_PYTHON=/bin/false)
answer "$tmp/doctor" doctor "$data"
grep -q '^missing  figures' "$tmp/doctor" || die 'no Python: figures are not missing'
answer "$tmp/report" report "$tmp/a.db" -o "$tmp/report.d"
[ "$(cat "$tmp/report.status")" = 3 ] || die 'no Python: report does not end with 3'
echo 'no Python: agree'

# --- calls that the kernel refuses: seccomp --------------------------------------------------------------
if "$python" "$refuse_call" 425 1 true; then
  around=("$python" "$refuse_call" 425 1)
  agree 'no io_uring (EPERM)' "$data" ready=True io_uring=missing
  around=("$python" "$refuse_call" 425 38)
  agree 'no io_uring (ENOSYS)' "$data" ready=True io_uring=missing
  around=("$python" "$refuse_call" 426 1)
  agree 'a ring that cannot be entered' "$data" ready=True io_uring=missing
  around=("$python" "$refuse_call" 16 25)
  agree 'no ioctl (ENOTTY)' "$data" ready=True FIEMAP=limited
  around=("$python" "$refuse_call" 16 1)
  agree 'no ioctl (EPERM)' "$data" ready=True FIEMAP=limited
  around=("$python" "$refuse_call" 427 22)
  agree 'no io_uring_register' "$data" ready=True io_uring=limited
  around=("$python" "$refuse_call" 451 38)
  agree 'no cachestat' "$data" ready=True residency=limited
  around=("$python" "$refuse_call" 321 1)
  agree 'no bpf' "$data" ready=True probe=missing 'probe programs=missing'
else
  echo 'no seccomp: refusals are not forced here'
fi

# --- filesystems -------------------------------------------------------------------------------------------
around=()
umount "$loopfs_mount"
# Where a test beside this one has the former mount in a namespace of its own, ext4 keeps that one's options.
mount_journal() {
  for _ in {1..100}; do
    mount -o data=journal "$loopfs_device" "$loopfs_mount" || return
    findmnt -no OPTIONS "$loopfs_mount" | grep -q data=journal && return
    umount "$loopfs_mount"
    sleep 0.2
  done
  die 'the filesystem of before stays mounted in another namespace'
}
if mount_journal 2>"$tmp/said"; then
  agree 'ext4, data=journal' "$data" ready=True 'direct I/O=limited' 'device reads=limited' FIEMAP=ok
else
  echo "data=journal: $(cat "$tmp/said")"
fi
umount "$loopfs_mount"
mapped=blksweep-doctor-$$
if dmsetup create "$mapped" --table "0 $(blockdev --getsz "$loopfs_device") linear $loopfs_device 0" \
  2>"$tmp/said" && at_exit "dmsetup remove $mapped" && mount "/dev/mapper/$mapped" "$loopfs_mount" 2>"$tmp/said"; then
  at_exit "umount '$loopfs_mount'"
  agree 'device mapper' "$data" ready=True 'stacked on=limited' probe=missing
  umount "$loopfs_mount"
  dmsetup remove "$mapped"
else
  echo "device mapper: not here: $(head -n 1 "$tmp/said")"
fi
loopfs_remove
mkdir "$tmp/t"
if mount -t tmpfs none "$tmp/t" 2>"$tmp/said"; then
  at_exit "umount '$tmp/t'"
  make_data "$tmp/t/data" 30
  agree tmpfs "$tmp/t/data" ready=True filesystem=limited FIEMAP=limited device=missing probe=missing
  mkdir "$tmp/t/upper" "$tmp/t/work" "$tmp/over"
  if mount -t overlay -o "lowerdir=$tmp/small,upperdir=$tmp/t/upper,workdir=$tmp/t/work" none "$tmp/over" \
    2>"$tmp/said"; then
    at_exit "umount '$tmp/over'"
    agree overlay "$tmp/over" ready=True filesystem=limited FIEMAP=limited device=missing
  else
    echo "overlay: $(cat "$tmp/said")"
  fi
else
  echo "tmpfs: $(cat "$tmp/said")"
fi
for fstype in btrfs xfs; do
  if loopfs_make "$tmp/$fstype.img" "$tmp/$fstype" 400M "$fstype"; then
    make_data "$loopfs_mount/data" 60
    sync -f "$loopfs_mount"
    agree "$fstype" "$loopfs_mount/data" ready=True FIEMAP=ok
    loopfs_remove
  else
    echo "$fstype: not here: $loopfs_reason"
  fi
done
