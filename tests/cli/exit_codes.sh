#!/usr/bin/env bash
# The documented exit codes: 0 done, 1 failed, 2 usage, 3 done but incomplete, 77 unsupported here,
# 130 interrupted.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

plain=(--buffered --cache keep --no-probe)

done_is_0() {
  make_data "$tmp/data" 50
  make_catalog "$tmp/data" "$tmp/data.cat"
  call plan "$tmp/data.cat" --order inode
  expect_status 0
  call run --catalog "$tmp/data.cat" "${plain[@]}" --json
  expect_status 0
  [ -z "$(/usr/bin/python3 -c 'import json, sys; json.load(sys.stdin)' <"$tmp/.out" 2>&1)" ] ||
    die "--json is no JSON document"
}

usage_is_2() {
  call
  expect_error 2
  call nonsense
  expect_error 2 nonsense
  call run
  expect_error 2 --data
  call run --catalog a --data b
  expect_error 2
  call run --catalog "$tmp/data.cat" --order sideways
  expect_error 2 --order sideways
}

content() {
  find . ! -type f | sort
  find . -type f -print0 | sort -z | xargs -0 cksum
}

inputs_of_each_kind() {
  local header=time_ns,op,offset,bytes,returned,latency_ns,thread,form,flags
  mkdir "$tmp/inputs" && cd "$tmp/inputs"
  make_data data 5
  make_catalog data data.cat
  printf '%s,volume\n0,read,0,4096,,,,,,v\n' "$header" >blocks.csv
  printf '%s,path\n0,read,0,4096,4096,9,1,pread,,a\n' "$header" >files.csv
  for kind in blocks files; do
    call trace import $kind.csv -o $kind.trace
    expect_status 0
  done
  cp data.cat 2.cat
  ln -s data.cat link.cat
  sample=$(find data -type f -size +0 | sort | sed -n 1p)
  call run --catalog data.cat "${plain[@]}" --no-ceiling --db done.db
  expect_status 0
}

# A command a line on stdin, each in the folder of the inputs; the error has these words.
all_are_refused() { # WORD...
  local command before
  before=$(content)
  while read -r command; do
    # shellcheck disable=SC2086
    call ${command//SAMPLE/$sample}
    expect_error 2 "$@"
    [ "$(content)" = "$before" ] || die "refused, and left or changed a file: $command"
  done
}

usage_leaves_no_file() {
  all_are_refused <<'COMMANDS'
run --catalog data.cat --buffered --no-probe --db x.db --model none-such
run --catalog data.cat --buffered --no-probe --db x.db --emission e.csv --repeats 2
run --catalog data.cat --buffered --no-probe --db x.db --bind cpu:90000
run --catalog data.cat --buffered --no-probe --db x.db --bind reader=all/reader=all
run --catalog data.cat --buffered --no-probe --db x.db --report page --bind cpu:90000
run --catalog data.cat --buffered --no-probe --db x.db --shuffle reservoir --window 1KiB
run --catalog data.cat --buffered --no-probe --report page
run --catalog data.cat --db x.db --engine none-such
run --db x.db
replay blocks.trace --device /dev/null --db x.db
replay blocks.trace --device /dev/null --timing dependent --db x.db
replay blocks.trace --device /dev/null --fio-twin --timing asap --db x.db --timeline t.json
replay blocks.trace --data data --db x.db
replay files.trace --data data --fio-twin --db x.db
replay files.trace --data data --fio-twin --timeline t.json
replay files.trace --data data --addresses wrap --db x.db
replay files.trace --data data --writes data --db x.db
replay files.trace --data data --cache none-such --db x.db
map data.cat --db x.db
map data --db x.db
simulate data.cat --model none-such --db x.db
simulate data.cat --model none --label-mix 0.9 --db x.db
trace import blocks.csv -o x.trace --format none-such
trace import blocks.csv -o x.trace --time-unit h
trace import data.cat -o x.trace
trace export files.trace --format blktrace -o x.out
trace export files.trace --format none-such -o x.out
trace record -o x.trace
trace record --files -o x.trace
trace record --device vda --data data -o x.trace
trace record --files --data data.cat -o x.trace -- true
dataset make new
dataset make new --count 5 --like files.trace
dataset make new --count 5 --fragment 2 --format tar
dataset make new --count 5 --format records
dataset make new --like blocks.trace
dataset pack data -o data/packed
dataset pack data -o packed --compress zstd --level 99
catalog data
catalog data -o x.cat --trace files.trace --tar
catalog data -o x.cat --trace blocks.trace
plan data.cat --emission e.csv --label-mix 0.9
COMMANDS
}

no_output_replaces_an_input() {
  all_are_refused 'would take the place of' <<'COMMANDS'
run --catalog data.cat --buffered --no-probe --db x.db --emission data.cat
run --catalog data.cat --buffered --no-probe --db x.db --emission x.db
trace import blocks.csv -o blocks.csv
trace import blocks.csv files.csv -o ./files.csv
trace export files.trace --format csv -o files.trace
trace record --files --data data -o SAMPLE -- true
plan data.cat --emission data.cat --order lba --merge none
run --catalog link.cat --buffered --no-probe --emission data.cat
run --catalog 2.cat --buffered --no-probe --emission %c.cat --order lba,path
plan 2.cat --emission %c.cat --order lba,path
replay files.trace --data data --timeline ./files.trace
replay files.trace --data data --timeline x.db --db x.db
replay files.trace --data data --timeline SAMPLE
catalog data -o files.trace --trace files.trace
timeline 1 --db done.db -o done.db
COMMANDS
}

no_output_replaces_another_kind() {
  echo mine >notes.txt
  all_are_refused 'notes.txt is no ' 'name a new file' <<'COMMANDS'
run --catalog data.cat --buffered --no-probe --db x.db --emission notes.txt
plan data.cat --emission notes.txt --order lba --merge none
catalog data -o notes.txt
trace import blocks.csv -o notes.txt
trace export files.trace --format csv -o notes.txt
trace export files.trace --format iolog -o notes.txt
trace export blocks.trace --format blktrace -o notes.txt
replay files.trace --data data --timeline notes.txt
timeline 1 --db done.db -o notes.txt
COMMANDS
}

no_output_is_a_sample() {
  all_are_refused 'whose files are samples' <<'COMMANDS'
run --data data --buffered --no-probe --emission SAMPLE
run --data data --buffered --no-probe --db x.db --emission data/../SAMPLE
plan data.cat --emission SAMPLE --order lba --merge none
catalog data -o SAMPLE
catalog data -o data/new.cat
run --data data --buffered --no-probe --db data/x.db
run --catalog data.cat --buffered --no-probe --db data/../data/x.db
run --data data --buffered --no-probe --emission data/e-%c.csv
catalog . -o ./x.cat
COMMANDS
}

failed_is_1() {
  call catalog "$tmp/missing" -o "$tmp/missing.cat"
  expect_error 1 "$tmp/missing" "No such file or directory"
}

# A sample that went after the scan cannot be delivered; everything else is, and the run says so.
incomplete_is_3() {
  cp -r "$tmp/data" "$tmp/shrunk"
  make_catalog "$tmp/shrunk" "$tmp/shrunk.cat"
  rm "$(find "$tmp/shrunk" -type f -size +0 | sort | sed -n 1p)"
  call run --catalog "$tmp/shrunk.cat" "${plain[@]}" --json
  expect_status 1 3
  [ "$status" = 1 ] || [[ $out == *'"incomplete": true'* || $out == *'"incomplete":true'* ]] ||
    die "status 3, but no run is marked incomplete"
  head -c 2000 /dev/urandom >"$tmp/shrunk/damaged.tar"
  call catalog "$tmp/shrunk" -o "$tmp/rest.cat"
  expect_status 3
  [[ $out == *'damaged tar file, left out: 1'* ]] || die 'what the catalog lacks is not told'
  call run --catalog "$tmp/rest.cat" "${plain[@]}"
  expect_status 0 # of what it holds
}

# eBPF needs rights that an ordinary user does not have.
unsupported_is_77() {
  local disk
  disk=$(find /sys/block -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | sed -n 1p)
  if [ -b "/dev/$disk" ]; then
    call as_nobody probe "/dev/$disk"
    expect_error 77
  fi
}

# A sweep that is interrupted keeps the runs that are finished.
# interrupted_when CHECK COMMAND...: gets SIGINT once CHECK is true
interrupted_when() {
  local check=$1 child
  shift
  "$blksweep" "$@" >"$tmp/.out" 2>"$tmp/.err" &
  child=$!
  end_at_exit "$child"
  until "$check" || ! kill -0 "$child" 2>/dev/null; do
    sleep 0.02
  done
  kill -INT "$child" || true
  status=0
  wait "$child" || status=$?
  out=$(cat "$tmp/.out") err=$(cat "$tmp/.err")
}

has_made() { [ -n "$(find "$tmp/made" -mindepth 2 -print -quit)" ]; }

interrupted_is_130() {
  mkdir "$tmp/made"
  interrupted_when has_made dataset make "$tmp/made/data" --count 200000 --size 1B
  expect_error 130 "$tmp/made/data is incomplete: remove it"
  rm -rf "$tmp/made" && mkdir "$tmp/made"
  interrupted_when has_made report "$tmp/inputs/done.db" -o "$tmp/made/report"
  [ "$status" = 3 ] || [[ $status = 130 && $err == *'nothing is written'* ]] || # 3: no Python that draws
    die "interrupted report: $status, $err"
  [ -z "$(find "$tmp/made" -name 'blksweep-*')" ] || die 'an interrupted report left its folder'
}

finished_runs() { sqlite3 -readonly "$tmp/int.db" 'SELECT count(*) FROM run' 2>/dev/null || echo 0; }
has_finished() {
  runs=$(finished_runs)
  ((runs > 0))
}

interrupted_run_is_130() {
  local runs=0
  interrupted_when has_finished run --catalog "$tmp/data.cat" "${plain[@]}" --consumer emulated \
    --compute 50ms --batch 1 --repeats 1000 --db "$tmp/int.db"
  expect_status 130
  [ "$(finished_runs)" -ge "$runs" ] || die "finished runs were lost"
}

done_is_0
usage_is_2
inputs_of_each_kind
usage_leaves_no_file
no_output_replaces_an_input
no_output_replaces_another_kind
no_output_is_a_sample
cd - >/dev/null
failed_is_1
incomplete_is_3
unsupported_is_77
interrupted_is_130
interrupted_run_is_130
