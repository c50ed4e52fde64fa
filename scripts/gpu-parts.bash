# Sourced by what runs on a GPU: parts with a timeout each below one deadline, and a table that is
# printed last whatever happened. A part that fails or takes too long stands there as ERROR.
#
#   gpu_deadline=SECONDS          for everything; set before the first part
#   part NAME LIMIT COMMAND...    its stdout goes into the table; "${quietly[@]}" before COMMAND: not
#   finish                 prints the table; returns 1 when a part was an ERROR

gpu_deadline=480
# shellcheck disable=SC2034  # for who sources this
quietly=(bash -c 'exec "$@" >/dev/null' quietly)
gpu_table=()
gpu_errors=0

# What a part wrote before it ended is worth having too.
part() {
  local name=$1 limit=$2 left=$((gpu_deadline - SECONDS)) status=0 out
  shift 2
  if ((left <= 0)); then
    row_error "$name" "not begun: $gpu_deadline s are over"
    return 0
  fi
  echo "-- $name" >&2
  # timeout(1) knows programs only; --kill-after ends what a hanging driver call keeps.
  out=$(timeout --kill-after=5 "$((limit < left ? limit : left))" "$@") || status=$?
  [ -z "$out" ] || gpu_table+=("$out")
  case $status in
    0) ;;
    124 | 137) row_error "$name" "not done after $((limit < left ? limit : left)) s" ;;
    *) row_error "$name" "status $status" ;;
  esac
}

row() { gpu_table+=("$(printf '%-44s %14s  %-18s %s' "$1" "$2" "${3:-}" "${4:-}")"); }

row_error() {
  gpu_errors=$((gpu_errors + 1))
  row "$1" ERROR "" "$2"
}

finish() {
  echo
  printf '%s\n' "${gpu_table[@]}"
  ((gpu_errors == 0))
}
