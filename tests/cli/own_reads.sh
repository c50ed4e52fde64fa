#!/usr/bin/env bash
# A run is judged by what it read itself, and says what others read from its disk meanwhile.
# Side by side: on a disk of its own, with neighbours of its own.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/loop_helpers.bash
. "$(dirname "$0")/loop_helpers.bash"

own_disk 200M
data=$loopfs_mount/data
call dataset make "$data" --count 256 --size 256KiB
expect_status 0
# Slow by its consumer and a small window, so that others overtake it: a second.
slow=(--data "$data" --no-probe --no-ceiling --json --batch 4 --window 2MiB --compute 14ms)

other=
stop_other() {
  [ -z "$other" ] || { kill "$other" && wait "$other"; } 2>/dev/null || true
  other=
}
at_exit stop_other
beside() { # COMMAND...: again and again, until stop_other
  (while :; do "$@" >/dev/null 2>&1; done) &
  other=$!
}

# --- alone: ours is all that the disk read ------------------------------------------------------------
for way in --direct --buffered; do
  call run "${slow[@]}" "$way" --cache cold
  expect_status 0
  expect "$way: the process counts what the disk counts" "
    abs(run['own_read_bytes'] - run['device_bytes']) < 0.02 * run['bytes'] and run['others_read_bytes'] < 1 << 20
    and run['own_read_bytes'] >= run['device_bytes_expected'] and not any('others read' in w for w in run['warnings'])"
done
# Reads that the block layer has to split, which it refuses to who must not wait: of too many pieces of memory,
cat >"$tmp/small-pages" <<SH
#!/bin/sh
exec "$python" -c 'import ctypes, os, sys; ctypes.CDLL(None).prctl(41, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])' "$blksweep" "\$@"
SH
chmod +x "$tmp/small-pages"
call_small() { blksweep=$tmp/small-pages call "$@"; }
call_small run "${slow[@]}" --window 16MiB --cache cold --order lba --merge device
expect_status 0
expect "without huge pages: what is split counts once" "
  abs(run['own_read_bytes'] - run['device_bytes']) < 0.02 * run['bytes'] and run['others_read_bytes'] < 1 << 20"
# and of too many bytes.
echo 64 >"/sys/block/${loopfs_device#/dev/}/queue/max_sectors_kb"
for engine in io_uring io_uring-sqpoll libaio; do
  call run "${slow[@]}" --window 16MiB --cache cold --order lba --merge device --engine "$engine"
  expect_status 0
  expect "$engine: what is split counts once" "
    abs(run['own_read_bytes'] - run['device_bytes']) < 0.02 * run['bytes'] and run['others_read_bytes'] < 1 << 20"
done
echo 'alone: fine'

# --- names of one file share its pages -----------------------------------------------------------------
mkdir "$loopfs_mount/links"
for i in 1 2 3 4; do
  head -c 1M /dev/urandom >"$loopfs_mount/links/file$i"
  ln "$loopfs_mount/links/file$i" "$loopfs_mount/links/name$i"
done
call run --data "$loopfs_mount/links" --no-probe --no-ceiling --json --buffered --cache cold
expect_status 0
expect 'a second name needs no device' "run['device_bytes_expected'] == 4 << 20 and run['bytes'] == 8 << 20
  and not any('cold' in w for w in run['warnings'])"
echo 'hard links: fine'

# --- a second reader fills the page cache just after the drop -------------------------------------------
own_bytes() { grep -o '"own_read_bytes": [0-9]*' <<<"$out" | grep -o '[0-9]*$'; }
for _ in {1..5}; do # on a busy machine it may not have overtaken the run
  beside find "$data" -type f -exec cat {} +
  call run "${slow[@]}" --buffered --cache cold --order path
  stop_other
  [ "$(own_bytes)" -ge $((57 << 20)) ] || break
done
expect_status 3
expect 'what others read proves nothing of this run' "run['own_read_bytes'] < 0.9 * run['device_bytes_expected']
  and 'somebody else read it first' in run['incomplete_reason']"
echo 'served by a second reader: said'

# --- warm, and evicted meanwhile; keep promises nothing ---------------------------------------------------
cat >"$tmp/evict.py" <<'END'
import os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        fd = os.open(os.path.join(folder, name), os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
END
beside "$python" "$tmp/evict.py" "$data"
call run "${slow[@]}" --buffered --cache warm
expect_status 3
expect 'pages that had left are told' "run['own_read_bytes'] > 4 << 20 and 'not warm: this run read' in run['incomplete_reason']"
call run "${slow[@]}" --buffered --cache keep
stop_other
expect_status 0
expect 'no state, no verdict' "run['own_read_bytes'] > 4 << 20 and not run['incomplete']"
echo 'warm and evicted: said'

# --- another one reads from the disk and not for us ------------------------------------------------------
beside dd if="$loopfs_device" of=/dev/null bs=1M count=64 iflag=direct
call run "${slow[@]}" --direct --cache cold
stop_other
expect_status 0
expect 'the run has its bytes, and says who else had the disk' "
  run['own_read_bytes'] >= run['device_bytes_expected'] and run['others_read_bytes'] > 0.05 * run['own_read_bytes']
  and any('others read' in w and 'this run read' in w for w in run['warnings'])"
echo 'a disk that was shared: said'
