# shellcheck shell=bash disable=SC2034,SC2154
# For tests that borrow from the node; to be sourced after helpers.bash.

# Those of `ls`-like names on stdin that end in the number of a process that is gone: what tests
# beside this one hold is theirs.
of_the_dead() {
  local name pid
  while read -r name; do
    pid=$(grep -oE '[0-9]+' <<<"${name##*/}" | sed -n 1p)
    [ -d "/proc/${pid:-none}" ] || echo "$name"
  done
}

# Processes that work in $tmp or name it. Looked at by two programs, not by two for each: there may be hundreds.
processes_of_test() {
  local file process
  # shellcheck disable=SC2062  # those are files, not a pattern
  {
    find /proc/[0-9]*/cwd -lname "$tmp*" || true
    grep -laF -f - /proc/[0-9]*/cmdline <<<"$tmp" || true
  } 2>/dev/null | while read -r file; do
    process=${file%/*}
    [[ $process = "/proc/$$" || $process = "/proc/$BASHPID" ]] || echo "${process#/proc/} $(cat "$process/comm" 2>/dev/null)"
  done | sort -u
}

turn_at_tunables -s

# Everything of the node that blksweep could have changed and left: queue of a disk, tunables,
# cgroups, our own place in them, processes, mounts, journals and pins.
node_state() {
  grep -as -d skip '' /sys/block/"$1"/queue/* /sys/block/"$1"/queue/iosched/* /proc/sys/vm/dirty_* \
    /proc/sys/vm/vfs_cache_pressure /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor || true
  cat /proc/self/cgroup
  find /sys/fs/cgroup -type d -name 'blksweep*' 2>/dev/null | sort | of_the_dead
  processes_of_test
  grep -cF "$tmp" /proc/self/mounts
  find /run/blksweep/journal -type f 2>/dev/null | of_the_dead
  taskset -p $$ | sed 's/.*: //'
}
