#!/bin/sh -eu
# What the probe counts on disks of several kinds, against /sys/block/*/stat and against the counts of the emulator that
# gives the disks; what becomes of a sorted order; what cannot be watched. Run by init.sh. Prints a line for each.
# shellcheck source=tests/guest/disk_helpers.sh
. /disk_helpers.sh
open_monitor
mount -t tracefs tracefs /sys/kernel/tracing

files=300
each=16384
bytes=$((files * each))

: >/tmp/warnings

# prepare NAME DEVICE: a data set at /mnt/NAME
prepare() {
  mkdir -p "/mnt/$1"
  mkfs.ext4 -q -F "$2"
  mount "$2" "/mnt/$1"
  blksweep --quiet dataset make "/mnt/$1/data" --count $files --size 16KiB >/dev/null
  sync
  blksweep --quiet catalog "/mnt/$1/data" -o "/tmp/$1.cat" >/dev/null
}

# read_it NAME SETTING... : the answer at /tmp/answer
read_it() {
  name=$1
  shift
  for _ in 1 2 3; do # a loaded host may stop the guest meanwhile, which makes a run incomplete
    status=0
    blksweep run --catalog "/tmp/$name.cat" --no-ceiling --no-check --merge none --probe-layers --probe-cache --json "$@" \
      >/tmp/answer 2>/tmp/said || status=$?
    grep -q 'stood still' /tmp/said || break
  done
  [ "$status" = 0 ] || die "$name $*: status $status: $(cat /tmp/said)"
  sed -n 's/^blksweep: warning: //p' /tmp/said >>/tmp/warnings
}

is() {
  [ "$2" = "$3" ] || {
    cat /tmp/said
    sed -n '/"warnings"/,/\]/p; /"probe"/,/"order"/p' /tmp/answer
    die "$1: $2, not $3"
  }
}

# What a run's own probe says of it.
own_counts() {
  grep -q '"probe": {' /tmp/answer || die "$1: no probe: $(cat /tmp/said)"
  is "$1: requests and merges" $(($(number /tmp/answer requests) + $(number /tmp/answer plug_merges) + $(number /tmp/answer scheduler_merges))) "$2"
  is "$1: lost events" "$(number /tmp/answer lost_events)" 0
  is "$1: against stat" "$(number /tmp/answer stat_difference)" 0.0
}

# The verdict on an ascending order is what the kernel's event buffer says, too.
judged() {
  verdict=$(of_layer /tmp/answer issue verdict)
  echo "$1: none: $2 % of neighbours upwards in the event buffer; $verdict"
  case $verdict in
    reversed*) [ "$2" -lt 50 ] ;;
    'the order reached'*) [ "$2" -ge 95 ] ;;
    *) false ;;
  esac || die "$1: the verdict is not what the kernel's events say"
}

# every_way NAME DISK: in order without merges, with merges, through a scheduler, through the page cache
every_way() {
  listen
  read_it "$1" --direct --order lba --scheduler none --nomerges 2 --depth 32
  judged "$1" "$(upwards "$2")"
  own_counts "$1, nomerges" $files
  is "$1: requests" "$(number /tmp/answer requests_issued)" $files
  is "$1: bytes by class" "$(all_classes /tmp/answer)" $bytes
  read_it "$1" --direct --order lba --scheduler none --depth 32
  own_counts "$1, merges" $files
  echo "$1: merges: $(number /tmp/answer requests_issued) requests: $(of_layer /tmp/answer issue verdict)"
  read_it "$1" --direct --order random --scheduler mq-deadline --depth 64
  own_counts "$1, mq-deadline" $files
  echo "$1: mq-deadline: $(of_layer /tmp/answer issue verdict)"
  read_it "$1" --buffered --order random --cache cold --scheduler none
  is "$1: pages fetched" "$(number /tmp/answer added_bytes)" $bytes
  is "$1: pages found" "$(number /tmp/answer hit_share)" 0.0
}

# limited NAME: what the groups of this kernel bound, with the probe
limited() {
  status=0
  blksweep run --catalog "/tmp/$1.cat" --no-ceiling --buffered --cache cold --memory-limit 64MiB --bandwidth-limit 200MB/s \
    --json >/tmp/answer 2>/tmp/said || status=$?
  case $status in
    0) echo "$1: limits: page cache at most $(number /tmp/answer cache_peak_bytes) of 67108864 bytes" ;;
    77) echo "$1: limits: $(tail -n 1 /tmp/said)" ;;
    *) die "$1 with limits: status $status: $(cat /tmp/said)" ;;
  esac
}

# recorded NAME DISK: what a trace of the disk and one of a program's reads have, of files that are in no cache
recorded() {
  rm -f /tmp/disk.trace
  sync
  echo 3 >/proc/sys/vm/drop_caches
  blksweep --quiet trace record --device "$2" -o /tmp/disk.trace 2>/tmp/said &
  recorder=$!
  i=0
  until [ -s /tmp/disk.trace ] || [ $((i += 1)) = 300 ]; do
    usleep 100000
  done
  usleep 500000
  before=$(counted "$2")  # now, because the filesystem reads of its own accord while the recorder is loaded
  blksweep --quiet trace record --files --data "/mnt/$1/data" -o /tmp/files.trace -- sh -c "md5sum /mnt/$1/data/*/* >/dev/null" ||
    die "$1: trace record --files ended with $?"
  kill -INT $recorder
  wait $recorder || die "$1: trace record: $(cat /tmp/said)"
  after=$(counted "$2")
  blksweep trace stat /tmp/disk.trace --json >/tmp/answer
  is "$1: recorded reads" "$(number /tmp/answer reads) $(number /tmp/answer read_bytes)" "$(since "$before" "$after")"
  blksweep trace stat /tmp/files.trace --json >/tmp/answer
  is "$1: recorded reads of files" "$(number /tmp/answer files) $(number /tmp/answer read_bytes)" "$files $bytes"
}

# whole NAME DISK: of a disk with requests
whole() {
  prepare "$1" "/dev/$2"
  echo "$1: $2, $(find "/sys/block/$2/mq" -mindepth 1 -maxdepth 1 -type d | wc -l) hardware queues"
  watch "$2:$1"
  every_way "$1" "$2"
  unwatch "$1"
  umount "/mnt/$1"
}

whole virtio vda
mount /dev/vda /mnt/virtio
limited virtio
recorded virtio vda
umount /mnt/virtio
whole scsi sda
whole nvme nvme0n1

# --- disks made of disks: no requests of their own -------------------------------------------------

# stack NAME DISK BENEATH:EMULATED... : a run says that it cannot watch, and what lies beneath can be watched
stack() {
  name=$1 top=$2
  shift 2
  prepare "$name" "/dev/$top"
  watch "$@"
  top_before=$(counted "$top")
  read_it "$name" --direct --order lba --depth 32
  beneath=$(for pair in "$@"; do echo "${pair%:*}"; done | paste -sd , - | sed 's/,/, /g')
  grep -q "$top has no requests of its own .*probe what it lies on: $beneath\"" /tmp/answer || die "$name: the run does not say why it has no probe"
  is "$name: requests" "$(sed -n 's/.*"requests_issued": \(.*\),/\1/p' /tmp/answer)" null
  grep -o "no probe, so [^\"]*" /tmp/answer | sed "s/^/$name: /"
  read_it "$name" --buffered --order random --cache cold
  is "$name: pages fetched" "$(number /tmp/answer added_bytes)" $bytes
  status=0
  blksweep probe "$top" --seconds 1 >/tmp/answer 2>&1 || status=$?
  is "$name: probe of the top" "$status" 77
  unwatch "$name"
  echo "$name: $top was read $(since "$top_before" "$(counted "$top")")"
  umount "/mnt/$name"
}

dmsetup create linear --table '0 98304 linear /dev/nvme0n1 2048'
stack dm-linear dm-0 nvme0n1:nvme
dmsetup remove linear

# A mirror without mdadm and its metadata, in sync as it is.
mirror() {
  echo "$1" >/sys/module/md_mod/parameters/new_array
  array=/sys/block/$1/md
  echo none >"$array/metadata_version"
  echo raid1 >"$array/level"
  echo 2 >"$array/raid_disks"
  slot=0
  for member in vdb vdc; do
    cat "/sys/block/$member/dev" >"$array/new_dev"
    echo $slot >"$array/dev-$member/slot"
    slot=$((slot + 1))
  done
  echo 65536 >"$array/component_size"
  echo none >"$array/resync_start"
  echo active >"$array/array_state"
}
mirror md_mirror
stack md-raid1 md_mirror vdb:first vdc:second

echo 'what runs warned of:'
sed 's/^run [0-9]* ([a-z]*): //; s/^/  /' /tmp/warnings | sort -u
