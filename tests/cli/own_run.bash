# shellcheck shell=bash
# For tests that keep journals of what they borrow, to be sourced before anything else: a /run of the test's own, where
# that may be had. Journals of others are not in the way of the test, nor its broken ones in theirs.
if [ "$(id -u)" = 0 ] && [ -z "${OWN_RUN:-}" ] && unshare --mount true 2>/dev/null; then
  OWN_RUN=1 exec "$(dirname "$0")/../support/own_mounts.sh" /none bash "$0" "$@"
fi
if [ -n "${OWN_RUN:-}" ]; then
  mount -t tmpfs -o mode=755 tmpfs /run
fi
