#!/usr/bin/env bash
# dataset pack and run --decode-threads: every variant gives the samples back, damage is named, a pack
# that is cut off leaves nothing.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

# answer EXPRESSION: of the JSON on stdout as j.
answer() { /usr/bin/python3 -c "import json, sys; j = json.load(sys.stdin); print($1)" <"$tmp/.out"; }
run_on() { call run --data "$1" --no-probe --no-ceiling --json --batch 16 "${@:2}"; }

mkdir -p "$tmp/src/cat" "$tmp/src/dog"
for i in $(seq 40); do
  seq "$i" 3000 >"$tmp/src/cat/$i.txt"
  head -c "$((i * 1000))" /dev/urandom >"$tmp/src/dog/$i.bin"
done
: >"$tmp/src/cat/empty"

# --- every variant ----------------------------------------------------------------------------
for layout in files tar; do
  for compress in none zstd lz4 blosc; do
    packed=$tmp/$layout-$compress
    call dataset pack "$tmp/src" -o "$packed" --layout "$layout" --compress "$compress" --threads 2 --json
    expect_status 0
    [ "$(answer 'j["samples"]')" = 81 ] || die 'not every file is a sample'
    run_on "$packed" --verify --decode-threads 2 --copy host --db "$tmp/results.db"
    expect_status 0
    [ "$(answer '[(r["samples"], r["wrong_samples"], r["incomplete"]) for r in j["runs"]]')" = '[(81, 0, False)]' ] ||
      die "$layout $compress: not all samples came back"
  done
done
[ "$(answer 'j["runs"][0]["cell"]["decode-threads"]')" = 2 ] || die 'the cell does not name its decode threads'
packed_bytes=$(sqlite3 "$tmp/results.db" 'SELECT sum(bytes) FROM batch')
decoded_bytes=$(sqlite3 "$tmp/results.db" 'SELECT sum(decoded_bytes) FROM batch')
source_bytes=$(cat "$tmp"/src/*/* | wc -c)
[ "$decoded_bytes" = $((8 * source_bytes)) ] || die "decoded $decoded_bytes of 8 x $source_bytes bytes"
[ "$packed_bytes" -lt "$decoded_bytes" ] || die 'nothing was compressed'
[ "$(sqlite3 "$tmp/results.db" "SELECT count(*) FROM batch_stage d JOIN batch_stage r USING (run_id, position)
  JOIN batch_stage c USING (run_id, position) WHERE d.stage = 'decode' AND r.stage = 'read' AND c.stage = 'copy'
  AND (d.begin_ns < r.end_ns OR d.end_ns < d.begin_ns OR d.end_ns > c.begin_ns)")" = 0 ] ||
  die 'a batch was not decoded between its reading and its copy'
run_on "$packed" --copy host --consumer emulated --compute 1ms --db "$tmp/results.db"
expect_status 0
/usr/bin/python3 "$(dirname "$0")/../../scripts/exposed_copy.py" "$tmp/results.db" >"$tmp/exposed" ||
  die 'the exposed copy of stored runs cannot be read'
grep -q 'exposed .* CPU per part' "$tmp/exposed" || die "exposed copy: $(cat "$tmp/exposed")"

# Swept like any other setting; without threads samples come as they are stored.
run_on "$tmp/tar-zstd" --verify --decode-threads 0,1,3
expect_status 0
[ "$(answer 'sorted((r["cell"]["decode-threads"], r["wrong_samples"]) for r in j["runs"])')" = \
  "[(0, 0), (1, 0), (3, 0)]" ] || die 'a sweep over decode threads'

# A tool that knows nothing of us reads the shards.
[ "$(tar -tf "$tmp"/tar-zstd/shard_000000.tar | wc -l)" = 81 ] || die 'tar does not read a shard'
[ -f "$tmp/files-none/cat/7.txt.blks" ] || die 'files do not keep their folders'

# --- half precision ---------------------------------------------------------------------------
head -c 400000 /dev/zero >"$tmp/src/cat/zeros"
call dataset pack "$tmp/src" -o "$tmp/half" --dtype fp16 --compress zstd --json
expect_status 0
[ "$(answer 'j["kept_raw"] > 0 and j["decoded_bytes"] < 0.9 * j["source_bytes"]')" = True ] || die 'fp16 does not halve'
run_on "$tmp/half" --verify --decode-threads 1
expect_status 0

# --- damage -----------------------------------------------------------------------------------
printf 'X' | dd of="$tmp/files-zstd/cat/9.txt.blks" bs=1 seek=60 conv=notrunc status=none
truncate -s 20 "$tmp/files-zstd/cat/10.txt.blks"
for verify in --verify ''; do
  # shellcheck disable=SC2086
  run_on "$tmp/files-zstd" --decode-threads 2 $verify --db "$tmp/damaged$verify.db"
  expect_status 3
  [ "$(answer '[(r["wrong_samples"], r["samples"]) for r in j["runs"]]')" = '[(2, 81)]' ] || die 'damaged samples'
  sqlite3 "$tmp/damaged$verify.db" 'SELECT path FROM failed_sample' | grep 'cat/9.txt.blks' >/dev/null ||
    die 'a damaged sample is not named'
  [[ $(answer '[r["incomplete_reason"] for r in j["runs"]]') == *'2 samples wrong (first: '*/cat/*.txt.blks:* ]] || die 'nor is it in the line'
done
printf 'XXXX' | dd of="$tmp/tar-lz4/.blksweep-pack/index" bs=1 seek=40 conv=notrunc status=none
run_on "$tmp/tar-lz4" --decode-threads 1
expect_error 1 index damaged 'dataset pack'
run_on "$tmp/src" --decode-threads 1
expect_error 1 'no packed data set' 'dataset pack'

# --- refused, cut off ---------------------------------------------------------------------------
call dataset pack "$tmp/src" -o "$tmp/half"
expect_error 1 'not empty'
call dataset pack "$tmp/src" -o "$tmp/src/inside"
expect_error 2 'one lies in the other'
call dataset pack "$tmp/src" -o "$tmp/x" --compress zstd --level 23
expect_error 2 'zstd has 1 to 22'
call dataset pack "$tmp/src" -o "$tmp/x" --compress brotli
expect_error 2 brotli
call dataset pack "$tmp/nowhere" -o "$tmp/x"
expect_error 1 nowhere
[ ! -e "$tmp/x" ] || die 'a refused pack left something'

for _ in $(seq 6); do cp -r "$tmp/src" "$tmp/big_$_"; done
mkdir "$tmp/big" && mv "$tmp"/big_* "$tmp/big"
"$blksweep" --quiet dataset pack "$tmp/big" -o "$tmp/cut" --compress zstd --level 19 2>"$tmp/.err" &
packer=$!
for _ in $(seq 200); do
  [ ! -d "$tmp/cut" ] || break
  sleep 0.02
done
kill -INT "$packer"
status=0
wait "$packer" || status=$?
[ "$status" = 130 ] || die 'an interrupted pack'
[ ! -e "$tmp/cut" ] || die 'an interrupted pack left something'
