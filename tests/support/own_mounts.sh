#!/bin/bash
# own_mounts.sh KEEP COMMAND...: the command in a mount namespace of its own, without what others have mounted from loop
# devices and FUSE. There it would stay mounted when they unmount it, and hold their disks for as long as the command
# runs. What is mounted below the folder KEEP stays.
set -euo pipefail
if [ "$1" != --inside ]; then
  exec unshare --mount --propagation private "$0" --inside "$@"
fi
keep=$2
shift 2
while read -r mounted; do
  umount --lazy "$mounted" 2>/dev/null || true # gone meanwhile, or a name with blanks
done < <(awk -v keep="$keep/" '($1 ~ "^/dev/loop" || $3 ~ "^fuse") && index($2 "/", keep) != 1 { print $2 }' /proc/self/mounts | tac)
exec "$@"
