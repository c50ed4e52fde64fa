# shellcheck shell=bash disable=SC2154
# A kernel for the guest, and what goes into its first root; to be sourced. Uses $work and $root.

# Debian packages of a kernel into $work/kernel, unpacked and not installed. With SUITE they are of that suite of the
# mirror that this machine uses; else of the suites that this machine has.
suite_of_its_own() {
  local uri apt=$work/apt
  # shellcheck disable=SC2016 # of apt-get
  uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
  mkdir -p "$apt"/{lists/partial,cache/archives/partial}
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $SUITE main" >"$apt/sources.list"
  cat >"$apt/apt.conf" <<EOF
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "$apt/lists";
Dir::Cache "$apt/cache";
EOF
  export APT_CONFIG=$apt/apt.conf
  apt-get -qq -o APT::Sandbox::User=root update
}

# The kernel itself, its modules and its base are packages of their own since 6.19.
parts_of() {
  apt-cache depends "$1" | awk '$1 == "Depends:" && $2 ~ /^linux-(base|binary|modules|image)-[0-9]/ { print $2 }'
}

download() {
  local package=$1 part
  mkdir "$work/debs"
  [ -z "${SUITE:-}" ] || suite_of_its_own
  case $package in
    linux-image-[0-9]*.[0-9]*.[0-9]*) ;;
    *) package=$(parts_of "$package" | head -n 1) ;; # a package that only names the newest one
  esac
  for part in "$package" $(parts_of "$package"); do
    (cd "$work/debs" && apt-get -qq -o APT::Sandbox::User=root download "$part") || return 1
  done
}

# fetch_kernel PACKAGE|FOLDER: a folder holds what was downloaded before
fetch_kernel() {
  local from=$work/debs part
  case $1 in
    */*) from=$1 ;;
    *) download "$1" || return 1 ;;
  esac
  mkdir "$work/kernel"
  for part in "$from"/*.deb; do
    dpkg-deb -x "$part" "$work/kernel"
  done
  rm -rf "$work/debs"
  image=$(find "$work/kernel" -name 'vmlinuz*' -type f | head -n 1)
  tree=$(find "$work/kernel" -path '*/modules/*/kernel' -type d | head -n 1)
  [ -n "$image" ] && [ -n "$tree" ]
}

# A program with the libraries that it needs, at their own places.
take() {
  local program library
  program=$(readlink -f "$(command -v "$1")")
  strip -o "$root/bin/$(basename "$1")" "$program" 2>/dev/null || cp "$program" "$root/bin/$(basename "$1")"
  for library in $(ldd "$program" 2>/dev/null | grep -o '/[^ ]*'); do
    mkdir -p "$root$(dirname "$library")"
    cp -Ln "$library" "$root$library"
  done
}

# take_module NAME: it and what it needs, each once, in the order in which they must be loaded. What the kernel has
# built in, or has not, is not there.
take_module() {
  local name=${1//-/_} file needed
  grep -qx "$name" "$root/modules/order" && return
  file=$(find "$tree" -name "${name//_/[_-]}.ko*" | head -n 1)
  [ -n "$file" ] || return 0
  case $file in
    *.xz) xz -dc "$file" ;;
    *.zst) zstd -dcq "$file" ;;
    *) cat "$file" ;;
  esac >"$root/modules/$name.ko"
  for needed in $(tr '\0' '\n' <"$root/modules/$name.ko" | sed -n 's/^depends=//p' | tr , ' '); do
    take_module "$needed"
  done
  echo "$name" >>"$root/modules/order"
}

make_root() {
  local name
  mkdir -p "$root"/{bin,proc,sys,dev,tmp,run,mnt,modules}
  take busybox
  "$root/bin/busybox" --install -s "$root/bin"
  find "$root/bin" -type l -exec ln -sf busybox {} \;
  # Busybox's shell runs its own losetup, which knows no --show, whatever stands in PATH.
  rm -f "$root"/bin/{losetup,sh}
  for name in "$build/blksweep" "$build/root_tests" dash fio mkfs.ext4 losetup addpart dmsetup; do
    take "$name"
  done
  ln -s dash "$root/bin/sh"
  : >"$root/modules/order"
  for name in virtio_pci virtio_blk virtio_scsi virtio_console sd_mod nvme crc32c_generic libcrc32c ext4 loop bfq \
    kyber_iosched mq_deadline dm_mod md_mod raid1; do
    take_module "$name"
  done
  install -m 755 "$here/init.sh" "$root/init"
  install -m 755 "$here"/{limits,disks}.sh "$here"/disk_helpers.sh "$root/"
  (cd "$root" && find . | cpio -o -H newc 2>/dev/null | gzip -1) >"$work/initrd"
}
