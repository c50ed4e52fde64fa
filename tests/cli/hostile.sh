#!/usr/bin/env bash
# COUNT (250) generated files of a stranger through the verbs as root (tests/support/hostile.py).
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

[ "$(id -u)" = 0 ] || skip 'needs root, for whom strangers are a danger'
command -v strace >/dev/null || skip 'needs strace'
unshare --mount true || skip 'no mount namespaces here'
chmod 755 "$tmp"
mkdir "$tmp/work"
"${own_mounts[@]}" "$python" "$(dirname "$refuse_call")/hostile.py" "$blksweep" "$tmp/work" \
  "${COUNT:-250}" "${SEED:-$RANDOM}"
