# shellcheck shell=sh disable=SC2034
# For disks.sh; to be sourced in the guest.

die() {
  echo "FAILED: $*"
  exit 1
}

# --- the emulator's own counts, over its monitor -------------------------------------------------
# reply: the next line that is no event, in $line
reply() {
  while read -r line <&3; do
    case $line in
      *'"event"'*) ;;
      *) return ;;
    esac
  done
}
ask() {
  echo "$1" >&3
  reply
}
open_monitor() {
  set -- /dev/vport*p1
  exec 3<>"$1"
  reply # its greeting
  ask '{"execute": "qmp_capabilities"}'
}
# emulated NAME: "reads bytes" that the emulator's disk of that name was asked for since it began. What info blockstats
# prints is what query-blockstats has.
emulated() {
  ask '{"execute": "human-monitor-command", "arguments": {"command-line": "info blockstats"}}'
  printf '%s' "$line" | sed 's/\\r\\n/\n/g; s/"/\n/g' |
    sed -n "s/^$1: *rd_bytes=\([0-9]*\) .*rd_operations=\([0-9]*\) .*/\2 \1/p"
}

# The kernel's of a disk: "reads bytes".
counted() { awk '{ printf "%d %.0f\n", $1, $3 * 512 }' "/sys/block/$1/stat"; }

# since "READS BYTES" "READS BYTES": the difference
since() { echo "$1 $2" | awk '{ printf "%d %.0f\n", $3 - $1, $4 - $2 }'; }

# --- an answer of the program ---------------------------------------------------------------------
# number FILE KEY: the first of that name
number() { grep -o "\"$2\": *[0-9.]*" "$1" | sed -n '1s/.*[: ]//p; 1s/.*"://p'; }
# of_layer FILE LAYER KEY
of_layer() {
  awk -v layer="\"$2\"," -v key="\"$3\":" '$1 == "\"layer\":" { on = ($2 == layer) }
    on && $1 == key { sub(/^[^:]*: */, ""); sub(/,$/, ""); gsub(/"/, ""); print; exit }' "$1"
}
# all_classes FILE: bytes that the attribution names
all_classes() {
  awk '/"attribution": \{/ { on = 1 } /"unattributed"/ { on = 0 } on && $1 == "\"bytes\":" { sum += $2 }
    END { printf "%.0f\n", sum }' "$1"
}

# --- the order of issues, by the kernel's own event buffer --------------------------------------------
events=/sys/kernel/tracing
listen() {
  : >$events/trace
  echo 1 >$events/events/block/block_rq_issue/enable
}
# upwards DISK: of 100 neighbours issued since, how many were in ascending order
upwards() {
  echo 0 >$events/events/block/block_rq_issue/enable
  awk -v disk="$(tr : , <"/sys/block/$1/dev")" '
    $0 ~ "block_rq_issue: " disk " R" { for (i = 1; i < NF; ++i) if ($(i + 1) == "+") at = $i
      if (n++) up += (at > last); last = at }
    END { printf "%d\n", (n > 1) ? 100 * up / (n - 1) : -1 }' $events/trace
}

# --- a probe from outside, over everything that a disk is asked for meanwhile ---------------------
# watch DISK:EMULATED... ; unwatch prints a line for each and fails where the three counts differ
watch() {
  watched=
  for pair in "$@"; do
    disk=${pair%:*}
    # shellcheck disable=SC3045
    blksweep probe "$disk" --live --json --interval 200ms >"/tmp/$disk.probe" 2>"/tmp/$disk.said" &
    watched="$watched $!:$pair"
  done
  for pair in "$@"; do
    tries=0
    until [ -s "/tmp/${pair%:*}.probe" ]; do
      tries=$((tries + 1))
      [ $tries -lt 300 ] || die "no probe of ${pair%:*}: $(cat "/tmp/${pair%:*}.said")"
      usleep 100000
    done
    counted "${pair%:*}" >"/tmp/${pair%:*}.stat"
    emulated "${pair#*:}" >"/tmp/${pair%:*}.emulated"
  done
}
unwatch() {
  differs=
  for one in $watched; do
    pid=${one%%:*} pair=${one#*:}
    disk=${pair%:*}
    stat=$(since "$(cat "/tmp/$disk.stat")" "$(counted "$disk")")
    below=$(since "$(cat "/tmp/$disk.emulated")" "$(emulated "${pair#*:}")")
    kill -INT "$pid"
    wait "$pid" || differs="$differs; the probe of $disk ended with $?"
    grep '"summary"' "/tmp/$disk.probe" >"/tmp/$disk.sum" || die "no summary of $disk"
    seen="$(number "/tmp/$disk.sum" requests) $(number "/tmp/$disk.sum" bytes)"
    echo "| $1 | $disk | $seen | $stat | $below | healed $(number "/tmp/$disk.sum" healed)"
    [ "$seen" = "$stat" ] && [ "$seen" = "$below" ] || differs="$differs; $disk: probe $seen, stat $stat, emulator $below"
  done
  [ -z "$differs" ] || die "$1$differs"
}
