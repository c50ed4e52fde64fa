#!/usr/bin/env bash
# A shuffle window for each rank (blksweep-mpi --window-scope rank): every sample once whatever the split, the barrier and the
# shuffle, one order for a seed and a number of ranks, that of one process where there is one rank; what it does to the
# shuffle is told, kept and reported.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

# shellcheck source=tests/cli/mpi_helpers.bash
. "$(dirname "$0")/mpi_helpers.bash"

call dataset make "$tmp/data" --count 207 --size lognormal:9KiB --classes 8
expect_status 0
make_catalog "$tmp/data" "$tmp/data.cat"
db=$tmp/ranks.db

# ranks N OPTION... : with windows of their own; the answer in $out, its order in $hash
ranks() {
  local n=$1
  shift
  launch "$n" --json --verify --data "$tmp/data" --batch 8 --window-scope rank --db "$db" "$@"
  expect_status 0
  holds "$n ranks, $*: all samples once, with their bytes" "doc['complete'] and doc['missing_samples'] == 0
    and doc['duplicated_samples'] == 0 and joined['wrong_samples'] == 0 and doc['bytes_compared'] and doc['window_scope'] == 'rank'
    and doc['emission_hash'] == doc['planned_emission_hash']"
  hash=$("$python" -c 'import json, sys; print(json.loads(sys.argv[1])["emission_hash"])' "$out")
}

reservoir=(--order chunked --chunk 64KiB --shuffle reservoir --window 30% --epochs 2)
planned "${reservoir[@]}"
global=$want
ranks 1 "${reservoir[@]}"
[ "$hash" = "$global" ] || die 'the window of one rank is that of all'
ranks 4 --split copy "${reservoir[@]}"
[ "$hash" = "$global" ] || die 'ranks that each read all have the order of one process'

ranks 2 --split sample "${reservoir[@]}"
two=$hash
ranks 2 --split batch --barrier batch --prefetch 1 --depth 3 "${reservoir[@]}"
[ "$hash" = "$two" ] || die 'the order is of the seed, whatever the batches, the barriers and the depth'
ranks 2 --split sample "${reservoir[@]}" --seed 2
[ "$hash" != "$two" ] || die 'another seed is another order'
ranks 4 --split sample --barrier epoch "${reservoir[@]}"
[ "$(printf '%s\n' "$global" "$two" "$hash" | sort -u | wc -l)" = 3 ] || die 'as many windows as ranks'

# Without a shuffle a window changes nothing.
planned --order path
ranks 4 --split sample --order path --shuffle none
[ "$hash" = "$want" ] || die 'without a shuffle the order is that of reading'
holds 'a fixed order is not shuffled' "mix['rank_decorrelation'] < 0.01 and mix['neighbours_broken'] < 0.01 and mix['label_mix'] < 0.1"

# Each rank permutes its own: the order is as mixed as a permutation, and which labels a rank sees is told beside it.
ranks 3 --split sample --order path --shuffle full --window 100%
holds 'the joined order is shuffled' "mix['rank_decorrelation'] > 0.8 and mix['label_mix'] > 0.8 and mix['rank_label_mix'] > 0.8"
ranks 4 --split shard --order path --barrier batch --shuffle full --window 100%
holds 'ranks with files of their own see some labels only' "mix['label_mix'] > 0.8 and mix['rank_label_mix'] < 0.6"
ranks 2 --split shard --order lba --merge file --shuffle buffer --window 40%
echo 'windows of ranks: every sample once, one order for a seed'

[ "$(sqlite3 "$db" 'SELECT group_concat(DISTINCT window_scope), count(*), count(quality_rank_label_mix) FROM ranks')" = 'rank|10|10' ] ||
  die 'windows of ranks are kept, with what they do'
call report "$db"
expect_status 0
[[ $out == *'reservoir, per rank'* ]] || die 'the report says whose the window is'

launch 2 --json --data "$tmp/data" --window-scope node
expect_status 2
[[ $err == *'window_scope = "node"'*'global, rank'* ]] || die 'another word is refused'
launch 2 --json --data "$tmp/data" --shuffle full --window-scope rank --window 64KiB
expect_status 1 2
[[ $err == *'--window'* ]] || die 'a window that cannot hold the part is refused'
