#!/usr/bin/env bash
# Other kernels in an emulator: boots a Debian kernel with the built program and runs checks in it.
#
#   tests/guest/guest.sh BUILD [KERNEL_PACKAGE]     BUILD: folder of the built program
#
# KERNEL_PACKAGE: default what linux-image-amd64 depends on; SUITE=name takes it from that suite of Debian. It is
# downloaded and unpacked, not installed. CHECKS: of "limits disks disks-v1", default all:
#   limits    caches and limits on a node with cgroup v2
#   disks     what the probe counts on disks of several kinds, against the emulator's own counts; disks-v1: with cgroup v1
# Works without KVM (then a check takes ten times as long). exit: 0 passed, 1 failed, 77 not possible here.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(realpath "$1")
patience=${PATIENCE:-900}  # seconds; a guest that hangs is a failure

for program in qemu-system-x86_64 busybox cpio fio mkfs.ext4 dmsetup; do
  command -v "$program" >/dev/null || {
    echo "SKIP: needs $program (apt-get install qemu-system-x86 busybox-static cpio fio e2fsprogs dmsetup)"
    exit 77
  }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/blksweep-guest.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
image=
tree=
# shellcheck source=tests/guest/kernel.bash
. "$here/kernel.bash"

# boot CHECKS CGROUP QEMU_ARGUMENT... : 0 if the guest says that it passed
boot() {
  timeout "$patience" qemu-system-x86_64 -accel tcg -nographic -no-reboot -nic none "${@:3}" \
    -kernel "$image" -initrd "$work/initrd" \
    -append "console=ttyS0 quiet loglevel=0 panic=1 rdinit=/init blksweep.checks=$1 blksweep.cgroup=$2" </dev/null |
    sed -u 's|\r||g' | tee "$work/said" | sed -un '/guest: Linux/,$p' | sed -u 's/.*guest: Linux/guest: Linux/'
  grep -qx 'guest: passed' "$work/said"
}

# disk NAME SIZE: an empty image, and what makes QEMU name its counts so
disk() {
  truncate -s "$2" "$work/$1"
  drive=(-drive "file=$work/$1,format=raw,if=none,id=$1,cache=unsafe")
}

limits() {
  disk temporary 3G
  boot limits v2 -m 1024 -smp 1 "${drive[@]}" -device virtio-blk-pci,drive=temporary
}

# The guest asks the emulator for its counts over a serial port that ends at the emulator's own monitor.
disks() {
  # shellcheck disable=SC2054 # commas of the emulator
  local -a with=(-chardev "socket,id=monitor,path=$work/monitor,server=on,wait=off" -mon chardev=monitor,mode=control
    -chardev "socket,id=port,path=$work/monitor" -device virtio-serial-pci -device virtserialport,chardev=port)
  local name
  for name in virtio scsi nvme first second; do
    disk $name 64M
    with+=("${drive[@]}")
  done
  for name in virtio first second; do
    with+=(-device "virtio-blk-pci,drive=$name,serial=$name,num-queues=2")
  done
  # shellcheck disable=SC2054
  with+=(-device virtio-scsi-pci,num_queues=2 -device scsi-hd,drive=scsi
    -device nvme,drive=nvme,serial=nvme,max_ioqpairs=4)
  boot disks "$1" -m 768 -smp 2 "${with[@]}"
}

fetch_kernel "${2:-linux-image-amd64}" || {
  echo "SKIP: cannot download ${2:-linux-image-amd64}"
  exit 77
}
make_root
failed=0
for checks in ${CHECKS:-limits disks disks-v1}; do
  case $checks in
    limits) limits ;;
    disks) disks v2 ;;
    disks-v1) disks v1 ;;
    *) false ;;
  esac || failed=1
done
exit $failed
