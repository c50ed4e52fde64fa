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
interrupted_is_130() {
  local child runs=0 wait_for
  "$blksweep" run --catalog "$tmp/data.cat" "${plain[@]}" --consumer emulated \
    --compute 50ms --batch 1 --repeats 1000 --db "$tmp/int.db" >"$tmp/.out" 2>"$tmp/.err" &
  child=$!
  end_at_exit "$child"
  for ((wait_for = 0; wait_for < 600 && runs == 0; wait_for++)); do
    runs=$(sqlite3 -readonly "$tmp/int.db" 'SELECT count(*) FROM run' 2>/dev/null || echo 0)
    kill -0 "$child" 2>/dev/null || break
    sleep 0.1
  done
  kill -INT "$child"
  status=0
  wait "$child" || status=$?
  out=$(cat "$tmp/.out") err=$(cat "$tmp/.err")
  expect_status 130
  [ "$(sqlite3 -readonly "$tmp/int.db" 'SELECT count(*) FROM run')" -ge "$runs" ] ||
    die "finished runs were lost"
}

done_is_0
usage_is_2
failed_is_1
incomplete_is_3
unsupported_is_77
interrupted_is_130
