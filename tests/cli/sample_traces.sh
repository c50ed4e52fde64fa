#!/usr/bin/env bash
# The traces of traces/: what their README says of them, files made like theirs, and a replay on those.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

traces=$(realpath "$(dirname "$0")/../../traces")
[ "$(du -c "$traces"/*.trace | awk 'END { print $1 }')" -le 2048 ] || die 'more than 2 MiB'
rows=0
while IFS='|' read -r _ file _ reads sum _; do
  file=$(tr -d ' `' <<<"$file") sum=$(tr -d ' `' <<<"$sum")
  [ "$(sha256sum "$traces/$file" | cut -c1-64)" = "$sum" ] || die "$file: another checksum"
  call trace stat "$traces/$file" --json
  expect_status 0
  "$python" -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["kind"] == "file" and d["requests"] == int(sys.argv[2]) and d["lost"] == 0, d' \
    "$tmp/.out" "$reads" || die "$file: not what the README says"
  call dataset make "$tmp/$file.data" --like "$traces/$file"
  expect_status 0
  call replay "$traces/$file" --data "$tmp/$file.data" --timing asap --buffered --cache keep --json
  [ "$status" = 0 ] || [ "$status" = 3 ] || die "$file: replay ended with $status"
  "$python" -c '
import json, sys
r = json.load(open(sys.argv[1]))["runs"][0]
c = r["certificate"]
assert c["failed"] == 0 and c["issued"] + sum(c["left_out"].values()) == int(sys.argv[2])
assert set(c["left_out"]) <= {"reads at the end of a file, which gave nothing"}, c["left_out"]' \
    "$tmp/.out" "$reads" || die "$file: the replay is not of all reads"
  rm -r "$tmp/$file.data"
  rows=$((rows + 1))
done < <(grep '^| `' "$traces/README.md")
[ "$rows" = "$(find "$traces" -name '*.trace' | wc -l)" ] || die 'a trace is not in the README'
echo "sample traces: $rows as their README says, each replayed on files like its own"
