#!/usr/bin/env bash
# Who else uses the disk, or takes CPUs away, is seen: small reads beside a run, reads and writes beside a map,
# reads beside a ceiling, counters that stand still, another set of CPUs.
# Side by side: on disks of its own, with neighbours of its own.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

own_disk 300M
data=$loopfs_mount/data
call dataset make "$data" --count 400 --size 16KiB
expect_status 0
head -c 40M /dev/urandom >"$loopfs_mount/filler"
sync -f "$data"
name=${loopfs_device#/dev/}
value() { "$python" -c 'import json, sys; run = json.load(open(sys.argv[1]))["runs"][0]; print(eval(sys.argv[2]))' "$tmp/.out" "$1"; }
# 6.25 MiB at 4 MB/s: a run of more than a second.
slow=(run --data "$data" --order random --cache cold --no-probe --no-ceiling --bandwidth-limit 4MB/s --json)

# neighbour BYTES PAUSE THREADS : reads the filler at random, from before it returns until $tmp/enough is there;
# its pid in $other
neighbour() {
  rm -f "$tmp/enough" "$tmp/begun"
  "$python" - "$loopfs_mount/filler" "$tmp/begun" "$tmp/enough" "$@" <<'PY' &
import mmap, os, random, sys, threading, time
path, begun, enough = sys.argv[1:4]
size, pause, count = int(sys.argv[4]), float(sys.argv[5]), int(sys.argv[6])
fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
end = os.fstat(fd).st_size // size


def read():
    block = mmap.mmap(-1, size)
    while not os.path.exists(enough):
        os.preadv(fd, [block], random.randrange(end) * size)
        open(begun, "w").close()
        time.sleep(pause)


threads = [threading.Thread(target=read) for _ in range(count)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
PY
  other=$!
  until [ -e "$tmp/begun" ]; do
    kill -0 "$other" || die 'no neighbour'
    sleep 0.02
  done
}
at_exit "touch '$tmp/enough'"
alone() {
  touch "$tmp/enough"
  wait "$other"
}

quiet() {
  call "${slow[@]}"
  expect_status 0
  [[ $(value 'run["warnings"]') != *'others read'* ]] || die "alone: $(value 'run["warnings"]')"
}
in_three_tries quiet

# --- few bytes, many requests ------------------------------------------------------------------------
neighbour 4096 0.01 1
call "${slow[@]}"
alone
[[ $(value 'run["warnings"]') == *'others read'*'was shared'* ]] || die "small reads beside the run: $(value 'run["warnings"]')"
[ "$(value 'run["others_read_bytes"] < 2 ** 20')" = True ] || die "it read more than was meant: $(value 'run["others_read_bytes"]')"
echo 'small reads: named'

# --- beside a map: few bytes or none that are read, a good part of the requests ------------------------
# map_slowly: $said are the warnings of a map of the disk, which carries out 200 requests a second for it
map_slowly() {
  call node exec --device "$loopfs_device" --iops-limit 200 -- "$blksweep" --quiet map "$loopfs_device" --seconds 3 --parts size,depth --json
  expect_status 0
  said=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["warnings"])' "$tmp/.out")
}
quiet_map() {
  map_slowly
  [[ $said != *'others used it'* ]] || die "a map alone: $said"
}
in_three_tries quiet_map
neighbour 4096 0.03 1
map_slowly
alone
[[ $said == *"$name read "*' KiB and wrote 0 B '*'others used it'* ]] || die "small reads beside a map: $said"
rm "$tmp/enough"
while [ ! -e "$tmp/enough" ]; do
  dd if=/dev/zero of="$loopfs_mount/filler" bs=4k count=1 oflag=direct conv=notrunc status=none
  sleep 0.01
done &
other=$!
map_slowly
alone
[[ $said == *' wrote '*'others used it'* ]] || die "writes beside a map: $said"
echo 'beside a map: named'

# --- beside the ceilings -------------------------------------------------------------------------------
neighbour 1048576 0 8
"$blksweep" run --data "$data" --order lba --cache cold --no-probe --db "$tmp/busy.db" >"$tmp/.out" 2>"$tmp/.err" || true
alone
grep -q 'ceiling: a figure was not measured.*sequential reads at depth 32.*others used' "$tmp/.err" || die "a busy ceiling: $(cat "$tmp/.err")"
! grep -q 'needs root' "$tmp/.err" || die "a permission that is there: $(cat "$tmp/.err")"
[ "$(sqlite3 "$tmp/busy.db" "select count(*) from ceiling where kind = 'sequential'")" = 0 ] || die 'a busy ceiling was kept'
rm "$tmp/busy.db"
echo 'a busy ceiling: left out'

# --- counters that stand still ----------------------------------------------------------------------------
at_exit "echo 1 >/sys/block/$name/queue/iostats"
echo 0 >"/sys/block/$name/queue/iostats"
call "${slow[@]}" --fio-twin
echo 1 >"/sys/block/$name/queue/iostats"
[[ $(value 'run["warnings"]') == *'queue/iostats'* ]] || die "iostats 0: $(value 'run["warnings"]')"
[ "$(value '(run["device_bytes"], run["fio"]["requests"])')" = '(None, None)' ] || die "iostats 0: $(value '(run["device_bytes"], run["fio"]["requests"])')"
echo 'iostats 0: unknown, and why'

# --- CPUs that go --------------------------------------------------------------------------------------------
if [ "$(nproc)" -ge 2 ]; then
  background "${slow[@]}"
  until_read "$name" 2000 "$pid" # sectors of the 12,800
  taskset -apc 0 "$pid" >"$tmp/taskset" || die "taskset: $(cat "$tmp/taskset")"
  ended
  expect_status 3
  [[ $(value 'run["incomplete_reason"]') == *'CPUs that'*'changed'* ]] || die "CPUs: $(value 'run["incomplete_reason"]')"
  echo 'fewer CPUs: incomplete'
fi

# --- a filesystem on two disks ---------------------------------------------------------------------------------
end_pair() {
  umount "$tmp/pair" || true
  losetup -d "${pair[@]}" || true
}
if command -v mkfs.btrfs >/dev/null; then
  pair=()
  mkdir "$tmp/pair"
  at_exit end_pair
  for n in 1 2; do
    truncate -s 200M "$tmp/pair.$n"
    pair+=("$(losetup -f --show --direct-io=on "$tmp/pair.$n")")
  done
  mkfs.btrfs -q -f -d raid0 -m raid1 "${pair[@]}" >/dev/null
  mount "${pair[0]}" "$tmp/pair"
  call dataset make "$tmp/pair/data" --count 100 --size 512KiB
  expect_status 0
  sync -f "$tmp/pair/data"
  call run --data "$tmp/pair/data" --order random --cache cold --no-probe --no-ceiling --json \
    --bandwidth-limit 15MB/s
  [[ $(value 'run["warnings"]') == *'which holds on '*' only'* ]] || die "a limit on one of two disks: $(value 'run["warnings"]')"
  [[ $(value 'run["warnings"]') == *'who else read is not known'* ]] || die "two disks: $(value 'run["warnings"]')"
  echo 'two disks: said'
fi
