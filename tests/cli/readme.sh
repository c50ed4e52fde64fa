#!/usr/bin/env bash
# Every command of README.md and docs/*.md in a ```bash block whose first line is "# tested" works as
# it stands. A block runs in an empty folder with the program in PATH; blocks share it, in order, so
# that later ones use what earlier ones made. A first line "# tested as root" runs as root only.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir "$tmp/bin" "$tmp/work"
ln -s "$blksweep" "$tmp/bin/blksweep"
export PATH=$tmp/bin:$PATH

# Writes block after block to $tmp/block.N; the name of the file and the line go in as a comment.
extract() {
  awk -v out="$tmp/block" '
    /^```bash$/ { inside = 1; first = 1; next }
    /^```$/     { if (keep) { close(name) } inside = 0; keep = 0; next }
    inside && first {
      first = 0
      keep = /^# tested( as root)?$/
      if (keep) { name = sprintf("%s.%03d", out, ++n); print "# " FILENAME ":" FNR > name }
    }
    inside && keep { print > name }
  ' "$@"
}

extract "$root/README.md" "$root"/docs/*.md
shopt -s nullglob
blocks=("$tmp"/block.*)
[ ${#blocks[@]} -gt 0 ] || die "no tested block found in README.md"
for block in "${blocks[@]}"; do
  if grep -q '^# tested as root$' "$block" && [ "$(id -u)" != 0 ]; then
    continue
  fi
  # 3: a run is incomplete, as where a host takes cached pages back; the same command again fills it in.
  status=3
  for ((try = 0; try < 3 && status == 3; try++)); do
    status=0
    (cd "$tmp/work" && bash -euo pipefail "$block") >"$tmp/.out" 2>"$tmp/.err" </dev/null || status=$?
  done
  out=$(cat "$tmp/.out") err=$(cat "$tmp/.err")
  [ "$status" = 0 ] || die "$(head -n 1 "$block")"
done
echo "${#blocks[@]} blocks work as they stand"
