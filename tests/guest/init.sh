#!/bin/sh
# First process of the guest: mounts, modules, groups as a node has them, then the checks that the kernel's command line
# names: blksweep.checks=limits|disks blksweep.cgroup=v1|v2
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /run
export DM_DISABLE_UDEV=1 # dmsetup makes the nodes itself
while read -r module; do
  insmod "/modules/$module.ko" 2>/dev/null || echo "guest: no module $module"
done </modules/order

word() { tr ' ' '\n' </proc/cmdline | sed -n "s/^blksweep\.$1=//p"; }

# A tree of v2 groups in which the I/O controller is off, as systemd leaves it.
groups_v2() {
  groups=/sys/fs/cgroup
  mount -t cgroup2 cgroup2 $groups
  echo +memory >$groups/cgroup.subtree_control
  mkdir $groups/user.slice
  echo +memory >$groups/user.slice/cgroup.subtree_control
  mkdir $groups/user.slice/session.scope
  echo $$ >$groups/user.slice/session.scope/cgroup.procs
}

groups_v1() {
  mount -t tmpfs tmpfs /sys/fs/cgroup
  for controller in memory blkio; do
    mkdir "/sys/fs/cgroup/$controller"
    mount -t cgroup -o "$controller" cgroup "/sys/fs/cgroup/$controller" 2>/dev/null ||
      echo "guest: this kernel has no controller $controller of cgroup v1"
  done
}

version=$(word cgroup)
"groups_$version"
checks=$(word checks)
echo "guest: Linux $(uname -r), cgroup $version only, $(nproc) CPUs: $checks"
if /bin/sh -eu "/$checks.sh"; then
  echo 'guest: passed'
else
  echo 'guest: FAILED'
fi
poweroff -f
