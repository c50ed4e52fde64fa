#!/usr/bin/env bash
# Ranks over MPI: 1, 2 and 4 of them, all splits, some shuffles and barriers. Every sample comes once (of each rank
# with copy), with its file's bytes, in the one order that `blksweep plan` says; a rank that is killed at any
# moment ends all of them, by name, with what was read as the result.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

here=$(dirname "$0")
# shellcheck source=tests/cli/mpi_helpers.bash
. "$here/mpi_helpers.bash"

call dataset make "$tmp/data" --count 203 --size lognormal:9KiB --classes 5
expect_status 0
call dataset make "$tmp/parts" --count 90 --size 3KiB
expect_status 0
for n in 1 511 4097; do
  head -c "$n" /dev/urandom >"$tmp/data/class_0001/odd_$n"
done
(cd "$tmp/parts" && find . -name '*.bin' | head -n 30 | xargs tar cf "$tmp/data/class_0000/a.tar" &&
  find . -name '*.bin' | tail -n 20 | xargs tar cf "$tmp/data/class_0002/b.tar")
make_catalog "$tmp/data" "$tmp/data.cat"

# ranks N OPTION... : N ranks of the program, their answer in $out
ranks() {
  local n=$1
  shift
  launch "$n" --json --verify --data "$tmp/data" --batch 8 "$@"
  expect_status 0
}

value() { "$python" -c 'import json, sys; print(eval("json.loads(sys.argv[1])" + sys.argv[2]))' "$out" "$1"; }

same=(--order chunked --chunk 64KiB --merge none --shuffle reservoir --window 30%)
planned "${same[@]}" --epochs 2
content=
for n in 1 2 4; do
  for split in sample batch shard copy; do
    [ "$n$split" = 1sample ] || [ "$n" != 1 ] || continue # of one rank all are the same
    case $split in
      batch) barrier='batch' ;;
      shard) barrier='epoch' ;;
      *) barrier='none' ;;
    esac
    ranks "$n" --split "$split" --barrier "$barrier" "${same[@]}" --epochs 2
    copies=1
    [ "$split" != copy ] || copies=$n
    holds "$n ranks, $split: all samples once" "doc['complete'] and doc['missing_samples'] == 0 and doc['duplicated_samples'] == 0
      and joined['samples'] == 2 * $copies * doc['samples'] and joined['wrong_samples'] == 0 and doc['bytes_compared']"
    holds "$n ranks, $split: the order of one process" "doc['emission_hash'] == '$want' == doc['planned_emission_hash']"
    holds "$n ranks, $split: rows" "[r['rank'] for r in rows] == list(range($n)) and all(r['state'] == 'done' for r in rows)
      and sum(r['samples'] for r in rows) == joined['samples'] and joined['nodes'] == 1"
    holds "clocks of one node are one, within what was measured" \
      "all(r['clock_error_ns'] == 0 for r in rows)"
    if [ "$split" != copy ]; then
      [ -n "$content" ] || content=$(value '["joined"]["content_hash"]')
      holds "$n ranks, $split: the same bytes" "joined['content_hash'] == '$content'"
    else
      holds "$n ranks, copy: each the same bytes" "all(r['content_hash'] == '$content' for r in rows)"
    fi
  done
done
echo "splits: one order, one content, for 1, 2 and 4 ranks"

shuffled() { # RANKS SPLIT BARRIER OPTION... : those of plan among them
  local n=$1 split=$2 barrier=$3
  shift 3
  planned "$@"
  ranks "$n" --split "$split" --barrier "$barrier" "$@"
  holds "$n ranks, $split, $barrier, $*" "doc['complete'] and doc['emission_hash'] == '$want'"
}
shuffled 4 sample epoch --order lba --merge kernel --shuffle buffer --window 20%
shuffled 3 shard batch --order random --merge none --shuffle full --window 100% --seed 7
shuffled 2 batch batch --order path --merge file --shuffle none
at_exit loopfs_remove
if [ "$(id -u)" = 0 ] && loopfs_make "$tmp/disk.img" "$tmp/disk" 64MiB ext4; then
  cp -r "$tmp/data" "$tmp/disk/data"
  make_catalog "$tmp/disk/data" "$tmp/data.cat"
  planned --order lba --merge device --shuffle buffer --window 8MiB
  launch 4 --json --verify --data "$tmp/disk/data" --order lba --merge device --shuffle buffer --window 8MiB
  expect_status 0
  holds 'the device read by four ranks' "doc['complete'] and doc['emission_hash'] == '$want'"
fi
echo 'shuffles: as planned'

launch 3 --json --data "$tmp/data" --split batch --batch 8
expect_status 2
[[ $err == *'--batch 8 with --split batch: is not divisible by 3 ranks'* ]] || die 'a batch that cannot be divided'
launch 2 --json --data "$tmp/data" --order sideways
expect_status 2
[ "$(grep -c 'order = "sideways"' "$tmp/.err")" = 1 ] || die 'a usage error is one line'
launch 2 --data "$tmp/nowhere"
expect_status 1
[[ $err == *'rank 0 '*nowhere* ]] || die 'a folder that is not there is told'
# The help, like that of all verbs.
"$mpi" --help >"$tmp/.out" || die 'help'
[ -z "$(awk 'length > 80' "$tmp/.out")" ] || die 'a line of help is longer than 80 columns'
# Copies with other content: of rank 1, in a mount namespace of its own.
if [ "$(id -u)" = 0 ]; then
  cp -r "$tmp/data" "$tmp/other"
  other_data 2 1 "$tmp/other" "$tmp/data" --order random --verify --json
  expect_status 0
  holds 'copies of the same data are as good' "doc['complete']"
  truncate -s +1 "$tmp/other/class_0001/odd_1"
  other_data 2 1 "$tmp/other" "$tmp/data" --order random
  expect_status 1
  [[ $err == *'rank 1 '*'are not those of rank 0'*odd_1* ]] || die 'the rank whose data differ is named'
fi
echo 'refusals: one line each'

make_data "$tmp/few" 3
launch 4 --json --verify --data "$tmp/few" --barrier batch
expect_status 0
holds 'ranks without a sample' "doc['complete'] and joined['samples'] == 3 and rows[3]['samples'] == 0"

# Somebody writes all the while: found before the first read, or with the result behind the last one.
(while touch "$tmp/data/class_0001/odd_511" && [ ! -e "$tmp/written" ]; do sleep 0.02; done) &
launch 2 --json --data "$tmp/data" --epochs 20
touch "$tmp/written"
expect_status 1 3
[ "$status" = 1 ] || holds 'what cannot be proven is not complete' "not doc['complete'] and 'changed during the run' in doc['fault']['what']"
[[ $err == *'rank '[01]' '*odd_511* ]] || die 'the file that changed is named' # by whom it was seen first
wait

# Several at once: most of their time is waiting.
kill_ranks() { "$python" "$here/../support/kill_ranks.py" "$@" "$mpi" "$tmp/data"; }
declare -A lanes
lane() { # NAME COMMAND...
  "${@:2}" >"$tmp/$1.lane" 2>&1 &
  lanes[$1]=$!
}
lane stopped kill_ranks --times "${STOPS:-1}" --stop
lane keepers kill_ranks --times "${KEEPERS:-1}" --keepers
kill_ranks --times "${KILLS:-5}" || die 'ranks that were killed'
lane told kill_ranks --times 1 --tell
for name in "${!lanes[@]}"; do
  wait "${lanes[$name]}" || die "$name: $(cat "$tmp/$name.lane")"
  grep '^rank' "$tmp/$name.lane" || true
done
