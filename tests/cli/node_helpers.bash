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

# Processes that work in $tmp or name it.
processes_of_test() {
  local process
  for process in /proc/[0-9]*; do
    if [[ $process != "/proc/$$" && $process != "/proc/$BASHPID" ]] &&
      { [[ $(readlink "$process/cwd") == "$tmp"* ]] || grep -qaF "$tmp" "$process/cmdline"; }; then
      echo "${process#/proc/} $(cat "$process/comm")"
    fi
  done 2>/dev/null
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
  find /sys/fs/cgroup -type d -name 'blksweep*' 2>/dev/null | sort | of_the_dead
  processes_of_test
  grep -cF "$tmp" /proc/self/mounts
  find /run/blksweep/journal -type f 2>/dev/null | of_the_dead
  taskset -p $$ | sed 's/.*: //'
}
