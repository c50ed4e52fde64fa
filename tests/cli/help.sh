#!/usr/bin/env bash
# --help of each verb is an answer: on stdout, fits a screen, and ends in three examples that parse.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

fits_a_screen() {
  [ "$(wc -l <"$tmp/.out")" -le 60 ] || die "$1 --help is longer than 60 lines"
  awk 'length($0) > 80 { bad = 1 } END { exit bad }' "$tmp/.out" || die "$1 --help is wider than 80"
}

# The examples stand last, three lines that begin with the program's name.
ends_in_examples() {
  local examples
  examples=$(grep -v '^ *$' "$tmp/.out" | tail -n 3 | grep -c '^ *blksweep ') || true
  [ "$examples" = 3 ] || die "$1 --help does not end in three examples"
}

call --help
expect_status 0
[ -z "$err" ] || die "--help writes to stderr"
for verb in dataset catalog plan simulate run fio report paper timeline trace replay probe map disk cache node doctor; do
  [[ $out == *"$verb"* ]] || die "--help does not name $verb"
done
[[ $out == *"exit: 0 done"* ]] || die "--help does not name the exit codes"

for verb in "dataset make" "dataset pack" catalog plan simulate run fio report paper timeline probe map doctor \
  disk "disk start" "disk set" "disk list" "disk stop" "disk stats" "disk model" \
  cache "cache drop" "cache warm" "cache stat" "cache pin" "cache list" "cache unpin" \
  trace "trace record" replay \
  node "node show" "node set" "node restore" "node exec"; do
  read -r -a words <<<"$verb"
  call "${words[@]}" --help
  expect_status 0
  [ -z "$err" ] || die "$verb --help writes to stderr"
  [ -n "$out" ] || die "$verb --help is empty"
  fits_a_screen "$verb"
  ends_in_examples "$verb"
done

call --version
expect_status 0
[[ $out =~ [0-9]+\.[0-9]+\.[0-9]+ ]] || die "--version names no version"
