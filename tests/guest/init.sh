#!/bin/sh
# First process of the guest: mounts, modules, a tree of v2 groups in which the I/O controller is off,
# as systemd leaves it; then the checks.
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
while read -r module; do
  insmod "/modules/$module.ko"
done </modules/order
mkfs.ext4 -q /dev/vda
mount /dev/vda /tmp

groups=/sys/fs/cgroup
echo +memory >$groups/cgroup.subtree_control
mkdir $groups/user.slice
echo +memory >$groups/user.slice/cgroup.subtree_control
mkdir $groups/user.slice/session.scope
echo $$ >$groups/user.slice/session.scope/cgroup.procs

echo "guest: Linux $(uname -r), cgroup v2 only"
if /bin/sh -eu /checks.sh; then
  echo 'guest: passed'
else
  echo 'guest: FAILED'
fi
poweroff -f
