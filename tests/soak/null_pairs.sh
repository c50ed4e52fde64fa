#!/usr/bin/env bash
# Null pairs on a real disk: two equal cells (--arm a,b) are compared again and again while hogs of CPU
# and disk come and go. A verdict is claimed to be wrong in at most 5 % of such comparisons.
#
#   PAIRS=200 ROUNDS=10 MOST=10      comparisons, rounds of each, how many may be called different
#   RULE='--repeats auto --precision 5% --repeats-max 30'   instead of a number of rounds
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/../cli/helpers.bash"
# shellcheck source=scripts/loopfs.sh
. "$(dirname "$0")/../../scripts/loopfs.sh"

pairs=${PAIRS:-200}
rounds=${ROUNDS:-10}
read -r -a rule <<<"${RULE:---repeats $rounds}"
most=${MOST:-10}
RANDOM=${SEED:-1}
hog=

[ "$(id -u)" = 0 ] || skip 'needs root to set up a loop device'
stop_hog() {
  if [ -n "$hog" ]; then
    kill "$hog" 2>/dev/null || true
    wait "$hog" 2>/dev/null || true
    hog=
  fi
}
at_exit loopfs_remove
at_exit stop_hog
loopfs_make "$tmp/disk.img" "$tmp/disk" 256MiB ext4 || skip "$loopfs_reason"
call dataset make "$tmp/disk/data" --count 300 --size lognormal:24KiB
expect_status 0
make_catalog "$tmp/disk/data" "$tmp/data.cat"

# One hog in a process of its own: of the CPU, of the disk, or none, for a while, and again.
hogs() {
  local child='' end
  trap '[ -z "$child" ] || kill "$child" 2>/dev/null; exit 0' TERM
  while true; do
    case $((RANDOM % 3)) in
      0) sha256sum /dev/zero & child=$! ;;
      1) dd if="$loopfs_device" of=/dev/null bs=1M iflag=direct 2>/dev/null & child=$! ;;
      2) child='' ;;
    esac
    end=$((RANDOM % 15 + 1))
    sleep "$((end / 10)).$((end % 10))" &
    wait $! || true
    if [ -n "$child" ]; then
      kill "$child" 2>/dev/null || true
      wait "$child" 2>/dev/null || true
      child=''
    fi
  done
}

begin=$SECONDS
hogs &
hog=$!
for ((pair = 0; pair < pairs; pair++)); do
  call run --catalog "$tmp/data.cat" --arm a,b --order random "${rule[@]}" --seed "$((pair * rounds + 1))" \
    --no-probe --no-ceiling --db "$tmp/pair.db"
  expect_status 0
  call report "$tmp/pair.db" --json
  expect_status 0
  mv "$tmp/.out" "$tmp/pair-$pair.json"
  rm "$tmp/pair.db"
done
stop_hog

"$python" - "$tmp" "$most" <<'END'
import json, math, pathlib, statistics, sys

found = [json.loads(p.read_text())["cells"][1] for p in pathlib.Path(sys.argv[1]).glob("pair-*.json")]
ratios = [c["ratio"] for c in found]
assert all(r["pairs"] >= 5 and c["verdict"] for c, r in zip(found, ratios)), "a comparison has no verdict"
different = sum(c["verdict"]["word"] != "not shown" for c in found)
ranked = sum(not r["signed_rank"]["low"] <= 1 <= r["signed_rank"]["high"] for r in ratios if r["signed_rank"])
half = statistics.median(math.sqrt(r["high"] / r["low"]) - 1 for r in ratios)
print(f"{different} of {len(found)} null pairs called different ({ranked} by signed ranks); "
      f"median half width of an interval {half:.1%}")
sys.exit(different > int(sys.argv[2]))
END
echo "null pairs: $((SECONDS - begin)) s"
