#!/usr/bin/env bash
# Another kernel, cgroup v2 only: boots a Debian kernel in an emulator and runs checks.sh in it.
#
#   tests/guest/guest.sh BUILD [KERNEL_PACKAGE]     BUILD: folder of the built program
#
# KERNEL_PACKAGE: default what linux-image-amd64 depends on. It is downloaded and unpacked, not
# installed. Works without KVM (then a check takes ten times as long). exit: 0 passed, 1 failed, 77 not
# possible here.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(realpath "$1")
package=${2:-}
patience=${PATIENCE:-600}  # seconds; a guest that hangs is a failure

for program in qemu-system-x86_64 busybox cpio fio mkfs.ext4; do
  command -v "$program" >/dev/null || {
    echo "SKIP: needs $program (apt-get install qemu-system-x86 busybox-static cpio fio e2fsprogs)"
    exit 77
  }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/blksweep-guest.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root

fetch_kernel() {
  if [ -z "$package" ]; then
    package=$(apt-cache depends linux-image-amd64 | awk '$1 == "Depends:" { print $2; exit }')
  fi
  (cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "$package") || {
    echo "SKIP: cannot download $package"
    exit 77
  }
  dpkg-deb -x "$work/$package"_*.deb "$work/kernel"
}

# A program with the libraries that it needs, at their own places.
take() {
  local program library
  program=$(readlink -f "$(command -v "$1")")
  cp "$program" "$root/bin/$(basename "$1")"
  for library in $(ldd "$program" 2>/dev/null | grep -o '/[^ ]*'); do
    mkdir -p "$root$(dirname "$library")"
    cp -Ln "$library" "$root$library"
  done
}

# In the order in which they must be loaded; what the kernel has built in is not there.
take_modules() {
  local name file tree
  tree=$(echo "$work"/kernel/lib/modules/*/kernel)
  mkdir -p "$root/modules"
  for name in crypto/crc32c_generic lib/libcrc32c lib/crc16 fs/mbcache fs/jbd2/jbd2 fs/ext4/ext4 \
    drivers/block/loop block/bfq block/kyber-iosched; do
    for file in "$tree/$name".ko*; do
      case $file in
        *.ko) cp "$file" "$root/modules/" ;;
        *.ko.xz) xz -dc "$file" >"$root/modules/$(basename "${file%.xz}")" ;;
      esac
      echo "${name##*/}" >>"$root/modules/order"
    done
  done
}

make_root() {
  mkdir -p "$root"/{bin,proc,sys,dev,tmp,run,mnt}
  take busybox
  "$root/bin/busybox" --install -s "$root/bin"
  find "$root/bin" -type l -exec ln -sf busybox {} \;
  # Busybox's shell runs its own losetup, which knows no --show, whatever stands in PATH.
  rm -f "$root/bin/losetup" "$root/bin/sh"
  for program in "$build/blksweep" "$build/root_tests" dash fio mkfs.ext4 losetup; do
    take "$program"
  done
  ln -s dash "$root/bin/sh"
  take_modules
  install -m 755 "$here/init.sh" "$root/init"
  install -m 755 "$here/checks.sh" "$root/checks.sh"
  (cd "$root" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$work/initrd"
}

fetch_kernel
make_root
timeout "$patience" qemu-system-x86_64 -m 3000 -smp 1 -nographic -no-reboot -nic none \
  -kernel "$work"/kernel/boot/vmlinuz-* -initrd "$work/initrd" \
  -append 'console=ttyS0 quiet loglevel=0 panic=1 rdinit=/init' </dev/null | tr -d '\r' |
  tee "$work/said" | sed -n '/guest: Linux/,$p' | sed 's/.*guest: Linux/guest: Linux/'
grep -qx 'guest: passed' "$work/said"
