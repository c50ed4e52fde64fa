#!/usr/bin/env bash
# Every engine as a user calls it: the right bytes, its own counts in the row and no other's, a twin where fio
# has the engine, and one line where an engine cannot have what is asked.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

[ "$(id -u)" = 0 ] || skip 'needs root for a loop device and cold caches'
at_exit loopfs_remove
loopfs_make "$tmp/disk.img" "$tmp/disk" 128MiB ext4 || skip "$loopfs_reason"
call dataset make "$tmp/disk/data" --count 300 --size 20000B
expect_status 0
make_catalog "$tmp/disk/data" "$tmp/data.cat"
read_with() { call run --catalog "$tmp/data.cat" --no-ceiling --no-probe --json "$@"; }

every=$(engines all)
words=$(wc -w <<<"$every")
[ "$words" -ge 7 ] || die "engines: $every"
[ "$every" = "$(engines direct) $(engines buffered)" ] || die 'an engine reads neither'

# --- one sweep over all of them, each as it reads ------------------------------------------------
read_with --engine "${every// /,}" --order random --cache cold --verify --repeats 2
expect_status 0
expect 'all deliver the same, and count their own' "len(runs) == 2 * $words and
  len({r['emission_hash'] for r in runs if r['repeat'] == 0}) == 1 and
  all(r['samples'] == 300 and r['wrong_samples'] == 0 for r in runs) and
  all((r['submit_ns'] or 0) >= r['submit_blocked_ns'] if r['cell']['engine'] == 'libaio' else r['submit_ns'] is None for r in runs) and
  all((r['cell']['engine'] == 'mmap') == (r['major_faults'] is not None) for r in runs) and
  all((r['cell']['engine'] == 'nowait') == (r['answered_at_once'] is not None) for r in runs) and
  all((r['cell']['engine'] == 'hint') == (r['hinted_bytes'] is not None) for r in runs)"
expect 'cold files fault, and are told of' "
  all(r['major_faults'] > 0 for r in runs if r['cell']['engine'] == 'mmap') and
  all(r['hinted_bytes'] > 300 * 10000 for r in runs if r['cell']['engine'] == 'hint') and
  all(r['answered_at_once'] < 300 for r in runs if r['cell']['engine'] == 'nowait')"
read_with --engine nowait --cache warm
expect_status 0
expect 'warm reads are answered at once' "run['answered_at_once'] == 300"

# --- settings: swept where they mean something, one cell elsewhere --------------------------------
read_with --engine psync,mmap,hint --buffered --madvise normal,random,sequential,willneed --hint fadvise,readahead \
  --hint-window 64KiB,1MiB --cache warm
expect_status 0
expect 'of their engines' "sorted(str(r['cell']['engine']) for r in runs) == ['hint'] * 4 + ['mmap'] * 4 + ['psync']"

# --- what cannot be -------------------------------------------------------------------------------
for engine in $(engines buffered); do
  read_with --engine "$engine" --direct
  expect_error 2 "--engine $engine" '--buffered'
  read_with --engine "$engine" --merge device
  expect_error 2 "--engine $engine" '--merge device'
done
read_with --engine io_uring-iopoll --buffered
expect_error 2 '--engine io_uring-iopoll' '--direct'
disk=${loopfs_device#/dev/}
if [ "$(cat "/sys/block/$disk/queue/io_poll")" = 0 ]; then
  read_with --engine io_uring,io_uring-iopoll --db "$tmp/poll.db"
  expect_error 77 '--engine io_uring-iopoll' "$disk does not poll" 'queue/io_poll' '--engine io_uring'
  [ ! -e "$tmp/poll.db" ] || die 'a sweep began that cannot end'
fi
read_with --engine libaio --depth 4096 --hint-window 1KiB
expect_error 2 '--hint-window' '1KiB'
limit=$(cat /proc/sys/fs/aio-max-nr)
[ "$limit" -lt 4096 ] || echo "fs.aio-max-nr $limit: enough for --depth 4096"

# --- no io_submit: seccomp refuses io_setup (206 on x86_64) ----------------------------------------
if [ "$(uname -m)" = x86_64 ]; then
  status=0
  "$python" "$refuse_call" 206 38 "$blksweep" --quiet run --catalog "$tmp/data.cat" --engine libaio --no-probe \
    --no-ceiling >"$tmp/.out" 2>"$tmp/.err" || status=$?
  out='' err=$(cat "$tmp/.err")
  [ "$status" = 99 ] || expect_error 77 '--engine libaio' 'io_setup' 'io_uring'
fi

# --- twins ----------------------------------------------------------------------------------------
command -v fio >/dev/null || skip 'needs fio for the twins'
read_with --engine "${every// /,}" --depth 8 --cache cold --fio-twin
expect_status 0
expect 'a twin where fio has the engine, a reason where it has not' "
  all((r['fio'] is not None) == (r['cell']['engine'] in ('io_uring', 'libaio', 'psync')) for r in runs) and
  all(any(w.startswith('no fio twin: fio') for w in r['warnings']) for r in runs if r['fio'] is None)"
expect 'the same engine' "all('ioengine=' + r['cell']['engine'] in r['fio']['job']
  for r in runs if r['cell']['engine'] in ('io_uring', 'libaio'))"
echo "engines: $every"
