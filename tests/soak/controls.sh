#!/usr/bin/env bash
# False alarms: sessions with controls on a rig without a fault, an emulated rotating disk. What is not "controls passed" is
# shown, with the load of the node then: noise that is there may be named.
#
#   SESSIONS=20 ROUNDS=5 MOST=1      sessions, rounds of each, how many may be called broken or failed
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/../cli/helpers.bash"
# shellcheck source=tests/cli/disk_helpers.bash
. "$(dirname "$0")/../cli/disk_helpers.bash"

sessions=${SESSIONS:-20}
rounds=${ROUNDS:-5}
most=${MOST:-1}
need_disks
rotating_data 100

passed=0 noise=0 alarms=0
for ((s = 1; s <= sessions; ++s)); do
  call run --data "$tmp/mnt/data" --order random,lba --merge none --cache cold --no-ceiling --controls \
    --repeats "$rounds" --seed "$s" --db "$tmp/$s.db"
  line=$(head -n 1 "$tmp/.out")
  case $line in
    'controls passed'*) passed=$((passed + 1)) ;;
    NOISE*) noise=$((noise + 1)) ;;
    *) alarms=$((alarms + 1)) ;;
  esac
  printf '%s: load %s: %s\n' "$s" "$(cut -d ' ' -f 1 /proc/loadavg)" "$line"
done
printf 'controls: %s sessions without a fault: %s passed, %s noisy, %s called broken or failed\n' \
  "$sessions" "$passed" "$noise" "$alarms"
[ "$alarms" -le "$most" ] || die "more than $most false alarms"
