#!/usr/bin/env bash
# What requests were for: on ext4 and xfs, through files and from the device, direct and buffered with read-ahead,
# every byte that the disk read is in one class, no read of the data is of nobody, and each sample is read once.
# The classes' sum is what /sys/block/*/stat counts. Other programs are told apart; a request that was merged of several
# files is each one's.
# Side by side: on disks of its own; asks for what was read, not for times
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

cat >"$tmp/judge.py" <<'PY'
import json, sys
READS = ["samples", "read_ahead", "gaps", "metadata", "other", "elsewhere"]

def total(a):
    return sum(a[c]["bytes"] for c in READS if a[c]["bytes"] is not None)

def check(truth, what, run):
    if not truth:
        shown = {k: v for k, v in run["attribution"].items() if k not in ("files", "folders", "extents", "latency")}
        sys.exit(f"FAILED: {what}: {run.get('cell', {})}\n{shown}\nbytes {run.get('bytes')} "
                 f"device {run.get('device_bytes')} probe {run.get('probe')}")

def judge(run, files):
    a, cell = run["attribution"], run["cell"]
    check(total(a) == run["probe"]["bytes"], "all that was read is in one class", run)
    check(run["probe"]["stat_difference"] == 0, "requests are those of /sys/block/*/stat", run)
    check(0 <= total(a) - run["device_bytes"] <= 1 << 20, "bytes are those of /sys/block/*/stat", run)
    check(a["unattributed"] == 0 and a["elsewhere"]["bytes"] == 0, "no read is of nobody", run)
    check(a["other"]["bytes"] == 0, "nobody else reads", run)
    # A device read that bridges a gap takes in samples of which another read has the rest; whoever drops the machine's
    # caches meanwhile makes the page cache read again.
    again = a["samples"]["bytes"] - run["bytes"]
    may = cell["merge"] == "device" or cell["io"] == "buffered"
    check(again == 0 or (again > 0 and may), "each sample is read once", run)
    check(a["gaps"]["bytes"] == 0 or cell["merge"] == "device", "nothing between files is read on purpose", run)
    check(a["metadata"]["bytes"] > 0 or cell["merge"] == "device", "inodes are read", run)
    untimed = run["probe"]["requests"] - sum(l["requests"] for l in a["latency"])
    check(0 <= untimed <= run["probe"]["healed"], "each request whose end was seen has a latency", run)
    check(sum(f["bytes"] for f in a["folders"]) == a["samples"]["bytes"] + a["read_ahead"]["bytes"], "by folder", run)
    check(a["extents"] and all(0 < e["bytes"] <= e["length"] or again for e in a["extents"]), "by extent", run)
    most = 50 # rows at most
    whole = len(a["extents"]) == most or sum(e["bytes"] for e in a["extents"]) == sum(f["bytes"] for f in a["folders"])
    check(whole, "extents are those of the files", run)
    for f in a["files"]:
        rounded = -(-files[f["path"]] // 4096) * 4096
        check(f["bytes"] == rounded or (again and f["bytes"] > rounded), f"{f} is {rounded} bytes of blocks", run)

if __name__ == "__main__":
    document, files = json.load(open(sys.argv[1])), dict(json.load(open(sys.argv[2])))
    for run in document["runs"]:
        if run["attribution"] is None:
            sys.exit("FAILED: no attribution: " + str(run["warnings"]))
        judge(run, files)
        a = run["attribution"]
        print(*(run["cell"][k] for k in ("order", "merge", "io")), *(f"{c} {a[c]['bytes']}" for c in READS))
PY

# A request lies within the time in which the first batch that waits for it is read.
cat >"$tmp/judge_timeline.py" <<'PY'
import json, sys
events = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "X"]
span = lambda e: (e["ts"], e["ts"] + e["dur"])
read = {e["args"]["batch"]: span(e) for e in events if e["cat"] == "read"}
seen = set()
for begin, end, args in ((*span(e), e["args"]) for e in events if e["cat"] == "request"):
    assert (args["batch"] is None) == (args["read"] is None), args
    if args["batch"] is not None:
        least, most = read[args["batch"]]
        assert least <= begin and end <= most, (args, begin, end, least, most)
        seen.add(args["batch"])
assert seen == set(read), f"batches without a request: {set(read) - seen}"
PY

sizes_of() { # FOLDER FILE: {path: bytes}
  "$python" - "$1" >"$2" <<'PY'
import json, os, sys
root = sys.argv[1]
print(json.dumps({os.path.relpath(os.path.join(d, f), root): os.path.getsize(os.path.join(d, f))
                  for d, _, fs in os.walk(root) for f in fs}))
PY
}

cat >"$tmp/judge_probe.py" <<'PY'
import json, os, sys
from judge import READS, total
lines, files = [json.loads(l) for l in open(sys.argv[1])], json.load(open(sys.argv[2]))
read_bytes, written_bytes, shard = int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
a, intervals = lines[-1]["attribution"], [l["interval"]["attribution"] for l in lines[:-1]]

def check(truth, what):
    if not truth:
        sys.exit(f"FAILED: {what}: stat {read_bytes} {written_bytes}\n{json.dumps({k: v for k, v in a.items() if k != 'latency'})}")

check(total(a) == read_bytes, "bytes are those of /sys/block/*/stat")
check(a["writes"]["bytes"] == written_bytes, "what is written, too")
check(a["elsewhere"]["bytes"] == 0, "no read is of nobody")
check(a["seen_requests"] == a["requests"], "no read is missing")
check(a["other"]["bytes"] is None, "nobody is ours")
for c in READS:
    check(sum(i[c]["bytes"] or 0 for i in intervals) == (a[c]["bytes"] or 0), f"intervals add up to all, of {c}")
check(len(a["processes"]) > 2 and all(p["process"] for p in a["processes"]), "who read")  # cat, and each dd
of = {f["path"]: f for f in a["files"]}
for path, size in files.items():
    wanted = path in sys.argv[6:]
    check(of.get(path, {"bytes": 0})["bytes"] == (-(-size // 4096) * 4096 if wanted else 0), f"{path}: read {wanted}")
check([f["path"] for f in a["folders"]] == [shard], "one folder is read")
PY
# Bytes read and written, of /sys/block/*/stat.
stat_bytes() {
  local reads writes
  read -r _ _ reads _ _ _ writes _ <"/sys/block/${loopfs_device#/dev/}/stat"
  echo $((reads * 512)) $((writes * 512))
}

for disk in 'ext4 -b 4096' xfs; do
  read -r fstype options <<<"$disk"
  # shellcheck disable=SC2086
  own_disk 320M "$fstype" $options
  data=$loopfs_mount/data
  "$blksweep" --quiet dataset make "$data" --count 600 --size lognormal:40KiB --fragment 1.3 >/dev/null
  sync -f "$data"
  make_catalog "$data" "$tmp/data.cat"
  sizes_of "$data" "$tmp/sizes"

  # --- runs ----------------------------------------------------------------------------------------
  call run --catalog "$tmp/data.cat" --no-ceiling --cache cold --order lba --merge none,kernel,device --io direct,buffered \
    --probe-layers --db "$tmp/$fstype.db" --json
  expect_status 0
  [ "$fstype" != ext4 ] || grep -q '"probe": {' "$tmp/.out" || skip 'the kernel lets no probe watch'
  "$python" "$tmp/judge.py" "$tmp/.out" "$tmp/sizes" | sed "s/^/$fstype /" || die "$fstype: attribution"
  for run in $(sqlite3 "$tmp/$fstype.db" 'SELECT run_id FROM run'); do
    "$blksweep" --quiet timeline "$run" --db "$tmp/$fstype.db" -o "$tmp/trace.json"
    "$python" "$tmp/judge_timeline.py" "$tmp/trace.json" || die "$fstype: the timeline of run $run"
  done

  # A quarter of each file is asked for; the page cache reads ahead of it.
  call run --catalog "$tmp/data.cat" --no-ceiling --cache cold --order lba --merge none --io direct,buffered --engine psync \
    --read-share 25% --probe-layers --json
  expect_status 0
  "$python" - "$tmp/.out" <<'PY' || die "$fstype: read-ahead"
import json, sys
shares = {}
for run in json.load(open(sys.argv[1]))["runs"]:
    a = run["attribution"]
    assert a["unattributed"] == 0 and a["samples"]["bytes"] >= run["bytes"], a
    shares[run["cell"]["io"]] = a["read_ahead"]["bytes"] / run["bytes"]
print("read ahead, of what was asked for:", shares)
assert shares["buffered"] > 1 > shares["direct"], shares
PY

  # --- another program meanwhile ---------------------------------------------------------------------
  while :; do dd if="$loopfs_device" of=/dev/null bs=64k count=256 iflag=direct status=none; done &
  reader=$!
  call run --catalog "$tmp/data.cat" --no-ceiling --cache cold --depth 1 --order random --merge none --epochs 4 --probe-layers --json
  kill "$reader"
  wait "$reader" || true
  expect_status 0 3
  "$python" - "$tmp/.out" <<'PY' || die "$fstype: other programs"
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
a = run["attribution"]
assert a["other"]["bytes"] > 1 << 20, a["other"]
assert a["samples"]["bytes"] == run["bytes"] and a["unattributed"] == 0, a
PY

  # --- a limit holds reads back, which the kernel submits when it is their turn: they are still the run's ----
  limited=(run --catalog "$tmp/data.cat" --no-ceiling --cache cold --depth 16 --order random --merge none --bandwidth-limit 60MB/s
    --probe-layers --json)
  if "$blksweep" --quiet "${limited[@]}" --dry-run >/dev/null 2>&1; then
    call "${limited[@]}"
    expect_status 0
    "$python" - "$tmp/.out" <<'PY' || die "$fstype: reads that were held back"
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
a = run["attribution"]
assert a["samples"]["bytes"] >= run["bytes"] and a["unattributed"] == 0, a
assert a["other"]["bytes"] <= run["others_read_bytes"], (a["other"], run["others_read_bytes"])
PY
    # Another program's, which are held back, too, are not.
    "$blksweep" --quiet node exec --device "$loopfs_device" --bandwidth-limit 10MB/s -- \
      dd if="$loopfs_device" of=/dev/null bs=256k iflag=direct status=none &
    reader=$!
    call run --catalog "$tmp/data.cat" --no-ceiling --cache cold --depth 1 --order random --merge none --bandwidth-limit 30MB/s \
      --probe-layers --json
    kill "$reader"
    wait "$reader" || true
    expect_status 0 3
    "$python" - "$tmp/.out" <<'PY' || die "$fstype: reads of others that were held back"
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
a = run["attribution"]
assert a["other"]["bytes"] > 1 << 20, a["other"]
assert a["samples"]["bytes"] == run["bytes"], (a["samples"], run["bytes"])
PY
  fi

  # --- probe --catalog -------------------------------------------------------------------------------
  sync -f "$data"
  echo 3 >/proc/sys/vm/drop_caches
  rm -f "$tmp/lines"
  "$blksweep" --quiet probe "$loopfs_device" --live --json --interval 200ms --catalog "$tmp/data.cat" >"$tmp/lines" &
  pid=$!
  until [ -s "$tmp/lines" ]; do sleep 0.05; done
  read -r read_before written_before < <(stat_bytes)
  shard=class_0003
  mapfile -t files < <(cd "$data" && ls $shard/*)
  (cd "$data" && cat "${files[@]:0:20}" >/dev/null)
  for file in "${files[@]:20:20}"; do
    dd if="$data/$file" of=/dev/null bs=1M iflag=direct status=none
  done
  head -c 1000000 /dev/urandom >"$loopfs_mount/written"
  sync -f "$loopfs_mount"
  sleep 0.1
  read -r read_after written_after < <(stat_bytes)
  kill -INT "$pid"
  wait "$pid" || die "the view ended with $?"
  PYTHONPATH=$tmp "$python" "$tmp/judge_probe.py" "$tmp/lines" "$tmp/sizes" $((read_after - read_before)) \
    $((written_after - written_before)) $shard "${files[@]:0:40}" || die "$fstype: probe --catalog"
  loopfs_remove
done

# --- a process that is numbered otherwise, and numbers that are given out again ---------------------------
own_disk 64M ext4 -b 4096
data=$loopfs_mount/data
"$blksweep" --quiet dataset make "$data" --count 20 --size 1MiB >/dev/null
make_catalog "$data" "$tmp/data.cat"
if unshare --pid --fork --mount-proc true 2>/dev/null; then
  "${own_mounts[@]}" unshare --pid --fork --mount-proc "$blksweep" --quiet run --catalog "$tmp/data.cat" --no-ceiling --cache cold --buffered \
    --probe-layers --probe-cache --json >"$tmp/.out" || die "in a pid namespace: $?"
  "$python" - "$tmp/.out" <<'PY' || die 'in a pid namespace its own reads are its own'
import json, sys
run = json.load(open(sys.argv[1]))["runs"][0]
a, pages = run["attribution"], run["page_cache"]
assert a["samples"]["bytes"] == run["bytes"] and not a["other"]["bytes"], a
assert pages["inodes_loaded"] is None or pages["inodes_loaded"] >= 20, pages
PY
fi
# watched_while COMMAND...: what a probe with the options ${watched[@]} says of the command's reads
watched_while() {
  sync -f "$loopfs_mount"
  echo 3 >/proc/sys/vm/drop_caches
  rm -f "$tmp/.out"
  "$blksweep" probe "$loopfs_device" --interval 100ms "${watched[@]}" >"$tmp/.out" 2>"$tmp/.err" &
  pid=$!
  until [ -s "$tmp/.out" ]; do sleep 0.05; done
  "$@"
  sleep 0.2
  kill -INT "$pid"
  ended
}
read_by_a_number_given_out_again() {
  sh -c 'echo $$ >"$1"; shift; exec cat "$@" >/dev/null' sh "$tmp/reader" "$data"/*/*
  echo $(($(cat "$tmp/reader") - 1)) 2>/dev/null >/proc/sys/kernel/ns_last_pid || true
  sleep 60 &
  another=$!
}
watched=(--catalog "$tmp/data.cat")
watched_while read_by_a_number_given_out_again
expect_status 0
[ "$another" = "$(cat "$tmp/reader")" ] || echo 'note: somebody else got the number'
! grep -q " $(cat "$tmp/reader") sleep" "$tmp/.out" || die 'another process has the number of one that read'
grep -q " $(cat "$tmp/reader") (ended)" "$tmp/.out" || [ "$another" != "$(cat "$tmp/reader")" ] || die 'the reader has ended'
kill "$another"

# --- files that are removed while it watches, and whose place another file gets -----------------------------
replace() {
  rm -r "${data:?}"/*
  sync -f "$loopfs_mount"
  head -c 60M /dev/urandom >"$loopfs_mount/another" 2>/dev/null || true
  sync -f "$loopfs_mount"
  dd if="$loopfs_mount/another" of=/dev/null bs=1M iflag=direct status=none
}
watched_while replace
expect_status 3
[[ $err == *'files '*'were changed, removed or moved'*'missing'* ]] || die 'whose reads they were'
loopfs_remove

# --- files that get another place while it watches: their reads are where the catalog knows nobody ------------
own_disk 64M ext4 -b 4096
data=$loopfs_mount/data
"$blksweep" --quiet dataset make "$data" --count 20 --size 64KiB --classes 1 >/dev/null
make_catalog "$data" "$tmp/data.cat"
rewrite() {
  for file in "$data"/*/00000[0-4].bin; do
    head -c 64K /dev/zero >"$file.new"
    mv "$file.new" "$file"
  done
  head -c 64K /dev/zero >>"$data/class_0000/000009.bin"
  sync -f "$loopfs_mount"
  for file in "$data"/*/00000[0-4].bin; do
    dd if="$file" of=/dev/null bs=64K iflag=direct status=none
  done
}
watched_while rewrite
expect_status 3
grep -q ' elsewhere$' <<<"$out" || die 'what is rewritten lies elsewhere'
[[ $err == *'6 of 20 files of the catalog were changed'*'reads elsewhere may have been of them'*'replaced'* ]] || die 'whose reads are elsewhere'
loopfs_remove

# --- refused, and told ---------------------------------------------------------------------------------
own_disk 64M ext4 -b 4096
"$blksweep" --quiet dataset make "$loopfs_mount/data" --count 20 --size 4KiB >/dev/null
call probe "$loopfs_device" --seconds 1 --catalog "$tmp/nowhere.cat"
expect_error 1 "$tmp/nowhere.cat"
call probe "${PROBE_OTHER_DISK:-$tmp}" --seconds 1 --catalog "$loopfs_mount/data"
[ "$status" != 0 ] || die 'data of another disk'
# Of a catalog that knows one class only, a read of another is of nobody.
read_two_classes() { cat "$loopfs_mount"/data/class_000[01]/* >/dev/null; }
watched=(--catalog "$loopfs_mount/data/class_0000" --live --json)
watched_while read_two_classes
expect_status 0
"$python" - "$tmp/.out" <<'PY' || die 'a catalog that does not know'
import json, sys
a = json.loads(open(sys.argv[1]).readlines()[-1])["attribution"]
assert a["samples"]["bytes"] == a["elsewhere"]["bytes"] == 2 * 4096 and a["unattributed"] > 0, a
PY
watched=(--catalog "$loopfs_mount/data")
watched_while read_two_classes
expect_status 0
for word in 'what for' samples 'file' 'folder' 'process' 'p99'; do
  grep -q "$word" <<<"$out" || die "does not say '$word'"
done
! grep -q elsewhere <<<"$out" || die 'all of it is known'

# --- reads that fail are counted, and said ------------------------------------------------------------------
read_beyond_the_image() {
  truncate -s 32M "$tmp/disk.img"
  ! dd if="$loopfs_device" of=/dev/null bs=64K skip=768 count=8 iflag=direct status=none 2>/dev/null || return 1
}
watched=()
watched_while read_beyond_the_image
expect_status 0
[[ $err == *' reads of '*' failed'* ]] || die 'reads that failed'

# --- a disk that goes while it is watched, and another that gets its name -----------------------------------------
attach_another() {
  umount "$loopfs_mount"
  losetup -d "$loopfs_device"
  losetup "$loopfs_device" "$tmp/disk.img" || loopfs_device='' # another test has taken its number
}
if [ -e "/sys/block/${loopfs_device#/dev/}/diskseq" ]; then
  watched_while attach_another
  expect_status 0
  [[ $err == *"${loopfs_device#/dev/} was detached meanwhile"* ]] || die 'a disk that went'
fi
