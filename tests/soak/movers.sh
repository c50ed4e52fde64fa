#!/usr/bin/env bash
# Files that are moved, changed, deduplicated, defragmented ... before a run or all the time during
# it, on ext4, xfs and btrfs: no run is complete with a wrong byte.
#
#   RUNS=n   at least so many runs (default 200); KINDS="swap trim" only these
#
# The truth is --verify, which reads every file again after the run. Its own verdict does not count:
# a run is called complete when nothing but the verification makes it incomplete.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/../cli/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

[ "$(id -u)" = 0 ] || skip 'needs root to mount loop devices'
for tool in mkfs.xfs mkfs.btrfs e4defrag xfs_fsr fstrim; do
  command -v "$tool" >/dev/null || skip "$tool is missing: scripts/install-deps.sh test"
done
mover=$(realpath "$(dirname "$0")/../support/mover.py")
at_exit loopfs_remove
moving=
at_exit stop_mover
stop_mover() {
  [ -z "$moving" ] || kill "$moving" 2>/dev/null || true
  [ -z "$moving" ] || wait "$moving" 2>/dev/null || true
  moving=
}

# judge KIND WHEN STATUS : counts the runs of the last answer into $tmp/outcomes.
judge() {
  "$python" - "$tmp/.out" "$@" >>"$tmp/outcomes" <<'PY'
import json, re, sys
path, kind, when, status = sys.argv[1:]
try:
    runs = json.load(open(path))["runs"]
except ValueError:
    runs = []
for run in runs:
    reasons = [r for r in run["incomplete_reason"].split("; ") if r]
    others = [r for r in reasons if not re.fullmatch(r"[\d,]+ samples wrong( \(.*\))?", r)]
    wrong = run["wrong_samples"] or 0
    outcome = "incomplete" if others else "WRONG" if wrong or run["missing_samples"] else "complete"
    print(kind, when, outcome, run.get("addresses"), wrong, sep="\t")
if not runs:
    print(kind, when, "refused" if status == "1" else "ended " + status, "", 0, sep="\t")
PY
}

fresh() {
  rm -rf "$loopfs_mount/data" "$loopfs_mount/scratch"
  call dataset make "$loopfs_mount/data" --count 60 --size 40KiB --fragment 3
  expect_status 0
}

# run_with FS KIND WHEN ROUND : one or two runs, through the device where the filesystem allows it.
run_with() {
  local fs=$1 kind=$2 when=$3 round=$4
  local -a from=(--data "$loopfs_mount/data" --repeats 2)
  fresh
  if ((round % 2)); then
    call catalog "$loopfs_mount/data" -o "$tmp/set.cat"
    expect_status 0
    from=(--catalog "$tmp/set.cat")
  fi
  if [ "$when" = before ]; then
    "$python" "$mover" "$kind" "$loopfs_mount/data" "$loopfs_mount/scratch" once
  else
    "$python" "$mover" "$kind" "$loopfs_mount/data" "$loopfs_mount/scratch" loop &
    moving=$!
  fi
  # A small window and a slow consumer keep it reading for a while.
  call run "${from[@]}" --merge device --order "$( ((round % 3)) && echo lba || echo random)" --depth 4 \
    --batch 2 --prefetch 1 --window 512KiB --compute 15ms --no-probe --no-ceiling --verify --json
  stop_mover
  judge "$fs-$kind" "$when" "$status"
}

declare -A kinds=(
  [ext4]='quiet swap rewrite truncate punch defrag trim'
  [xfs]='quiet dedupe reflink rewrite truncate punch defrag trim shrink'
  [btrfs]='quiet dedupe balance defrag shrink trim'
)
: >"$tmp/outcomes"
for ((round = 0; ; ++round)); do
  for fs in ext4 xfs btrfs; do
    loopfs_make "$tmp/$fs.img" "$tmp/$fs" 400M "$fs" || skip "$loopfs_reason"
    for kind in ${kinds[$fs]}; do
      if [ -z "${KINDS:-}" ] || [[ " $KINDS " == *" $kind "* ]]; then
        run_with "$fs" "$kind" before "$round"
        run_with "$fs" "$kind" during "$round"
      fi
    done
    loopfs_remove
  done
  [ "$(wc -l <"$tmp/outcomes")" -lt "${RUNS:-200}" ] || break
done

out=''
cut -f 1-4 "$tmp/outcomes" | sort | uniq -c
echo "$(wc -l <"$tmp/outcomes") runs: $(cut -f 3 "$tmp/outcomes" | sort | uniq -c | awk '{ printf "%s%s %s", s, $1, $2; s = ", " }')"
! grep -q $'\tWRONG\t' "$tmp/outcomes" || die 'complete runs with wrong bytes'
grep -q $'quiet\t.*\tcomplete\t' "$tmp/outcomes" || [ -n "${KINDS:-}" ] ||
  die 'no quiet run is complete: nothing was shown'
