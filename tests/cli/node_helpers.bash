# shellcheck shell=bash disable=SC2034,SC2154
# For tests that borrow from the node; to be sourced after helpers.bash.

python=/usr/bin/python3

# expect TEXT PYTHON: holds for `runs` of the last answer, and for `run`, the first of them.
expect() {
  "$python" -c '
import json, sys
runs = json.load(open(sys.argv[1]))["runs"]
run = runs[0]
sys.exit(0 if eval(sys.argv[2]) else 1)' "$tmp/.out" "$2" || die "$1"
}

# Everything of the node that blksweep could have changed and left: queue of a disk, tunables,
# cgroups, our own place in them, processes, mounts, journals and pins.
node_state() {
  local file
  for file in /sys/block/"$1"/queue/* /sys/block/"$1"/queue/iosched/* /proc/sys/vm/dirty_* \
    /proc/sys/vm/vfs_cache_pressure /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do
    [ ! -f "$file" ] || echo "$file $(cat "$file" 2>/dev/null)"
  done
  cat /proc/self/cgroup
  find /sys/fs/cgroup -type d -name 'blksweep*' 2>/dev/null | sort
  find /sys/fs/cgroup -name cgroup.subtree_control -exec cat {} + 2>/dev/null | sort -u
  ps -e -o pid=,comm= | awk '$2 ~ /^(blksweep|fio)/' | sort
  grep -c . /proc/self/mounts
  ls /run/blksweep/journal /run/blksweep/pins 2>/dev/null
  taskset -p $$ 2>/dev/null
}
