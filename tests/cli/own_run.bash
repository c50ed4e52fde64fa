# shellcheck shell=bash
# For tests that keep journals of what they borrow, to be sourced before anything else: a /run of the test's own, where
# that may be had. Journals of others are not in the way of the test, nor its broken ones in theirs. What other tests have
# mounted would stay mounted here when they unmount it, and hold their disks: it goes at once.
if [ "$(id -u)" = 0 ] && [ -z "${OWN_RUN:-}" ] && unshare --mount true 2>/dev/null; then
  OWN_RUN=1 exec unshare --mount --propagation private bash "$0" "$@"
fi
if [ -n "${OWN_RUN:-}" ]; then
  while read -r mounted; do
    umount --lazy "$mounted"
  done < <(awk '$1 ~ "^/dev/loop" || $3 ~ "^fuse" { print $2 }' /proc/self/mounts | tac)
  mount -t tmpfs -o mode=755 tmpfs /run
fi
