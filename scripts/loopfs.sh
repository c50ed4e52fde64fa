# shellcheck shell=bash disable=SC2034
# A filesystem in a file, mounted through a loop device; to be sourced.
#
#   loopfs_make IMAGE MOUNTPOINT SIZE [FSTYPE [MKFS_OPTION...]]
#                   as root; returns 1 with the reason in loopfs_reason
#   loopfs_remove   unmounts, detaches and deletes; safe to call twice. The device's queue settings
#                   outlive it and would be those of the next one: they are put back before
#
# The caller sets its trap for loopfs_remove before loopfs_make, so that an interrupt cleans up too.

loopfs_image=
loopfs_mount=
loopfs_device=
loopfs_reason=
loopfs_queue=()  # FILE VALUE FILE VALUE ..., as found

# The scheduler first: it resets others. Some cannot be read (wbt_lat_usec of a loop device). The limit
# of discards is not ours to write: a 0 stays for good, any other value being refused from then on
# (queue_max_discard_sectors_store, drivers of granularity 0), whoever has the device next.
loopfs_note_queue() {
  local file value queue=/sys/block/${loopfs_device#/dev/}/queue
  loopfs_queue=()
  while read -r file; do
    value=$(cat "$file" 2>/dev/null) || continue
    value=${value#*\[}
    value=${value%%\]*}
    loopfs_queue+=("$file" "$value")
  done < <(echo "$queue/scheduler" && find "$queue" -type f -perm /200 ! -name scheduler ! -name discard_max_bytes | sort)
}

loopfs_is() { # FILE VALUE
  local now
  now=$(cat "$1" 2>/dev/null) && [[ $now = "$2" || $now = *"[$2]"* ]]
}

loopfs_put_back_queue() {
  local pass i file
  for pass in 1 2; do
    for ((i = 0; i < ${#loopfs_queue[@]}; i += 2)); do
      file=${loopfs_queue[i]}
      if [ -e "$file" ] && ! loopfs_is "$file" "${loopfs_queue[i + 1]}"; then
        { echo "${loopfs_queue[i + 1]}" >"$file"; } 2>/dev/null || true
      fi
    done
  done
  loopfs_all_tags "/sys/block/${loopfs_device#/dev/}/queue"
  loopfs_queue=()
}

# Without a scheduler nr_requests bounds the disk's own tags. They stay that few, and no file tells, when it was
# changed by way of another scheduler; a number that is there already is not looked at.
loopfs_all_tags() { # QUEUE
  local requests
  if loopfs_is "$1/scheduler" none && requests=$(cat "$1/nr_requests"); then
    { echo $((requests - 1)) >"$1/nr_requests" && echo "$requests" >"$1/nr_requests"; } 2>/dev/null || true
  fi
}

loopfs_remove() {
  if [ -n "$loopfs_mount" ] && mountpoint -q "$loopfs_mount"; then
    umount "$loopfs_mount" || umount --lazy "$loopfs_mount" || true
  fi
  if [ -n "$loopfs_device" ]; then
    # Where somebody detached it before, its number may be another's by now.
    if [ ! -e "$loopfs_image" ] || losetup --noheadings --output NAME --associated "$loopfs_image" | grep -qx "$loopfs_device *"; then
      loopfs_put_back_queue
      losetup --detach "$loopfs_device" || true
    fi
    loopfs_device=
  fi
  if [ -n "$loopfs_mount" ]; then
    rmdir "$loopfs_mount" 2>/dev/null || true
    loopfs_mount=
  fi
  if [ -n "$loopfs_image" ]; then
    rm -f "$loopfs_image"
    loopfs_image=
  fi
}

# Direct I/O of the loop device keeps the image out of the host's page cache, where it would be
# cached a second time and a "cold" run would not be cold. Not every filesystem below can do it.
loopfs_attach() {
  loopfs_device=$(losetup --find --show --direct-io=on "$1" 2>/dev/null) && return
  loopfs_device=$(losetup --find --show "$1" 2>&1) && return
  loopfs_reason="losetup: $loopfs_device"
  loopfs_device=
  return 1
}

loopfs_make() {
  local image=$1 mount=$2 size=$3 fstype=${4:-ext4} said
  shift $(($# < 4 ? $# : 4))
  if [ "$(id -u)" != 0 ]; then
    loopfs_reason='needs root for a loop device'
    return 1
  fi
  loopfs_image=$image
  if ! said=$(truncate -s "$size" "$image" 2>&1 && "mkfs.$fstype" -q "$@" "$image" 2>&1); then
    loopfs_reason="mkfs.$fstype: $said"
    return 1
  fi
  loopfs_attach "$image" || return 1
  loopfs_note_queue
  mkdir -p "$mount"
  loopfs_mount=$mount
  if ! said=$(mount "$loopfs_device" "$mount" 2>&1); then
    loopfs_reason="mount: $said"
    return 1
  fi
}
