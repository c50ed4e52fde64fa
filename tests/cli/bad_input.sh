#!/usr/bin/env bash
# Bad input: one line that names the object and the way out, the documented exit code, no crash, and
# nothing lost that was there before.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

plain=(--buffered --cache keep --no-probe)
data=$tmp/data
catalog=$tmp/data.cat

wrong_options() {
  call run --catalog "$catalog" --nonsense
  expect_error 2 --nonsense
  [[ $err != *'did you mean'* ]] || die 'something is suggested that nobody meant'
  call run --catalog "$catalog" --merg lba
  expect_error 2 --merg 'did you mean --merge?'
  call rnu --catalog "$catalog"
  expect_error 2 rnu 'did you mean run?'
  call run --catalog "$catalog" --window 10x
  expect_error 2 --window "'10x'"
  call run --catalog "$catalog" --compute 12
  expect_error 2 --compute "'12'"
  call run --catalog "$catalog" --depth 8x
  expect_error 2 --depth 8x
  call run --catalog "$catalog" --repeats -1
  expect_error 2 --repeats -1
  call run --catalog "$catalog" --merge lba,sideways
  expect_error 2 --merge
  for value in -1 99999999999999999999 0x10 +1 1.5 ''; do # nor is it the number that is left of it
    call dataset make "$tmp/other" --count 10 --seed "$value"
    expect_error 2 --seed "'$value'"
  done
  for value in 0x2 nan inf 1e999; do
    call dataset make "$tmp/other" --count 10 --fragment "$value"
    expect_error 2 --fragment "'$value'"
  done
  call dataset make "$tmp/decimal" --count 20 --size 1KiB --classes 010 --seed 18446744073709551615
  expect_status 0
  [ "$(find "$tmp/decimal" -mindepth 1 -maxdepth 1 -type d | wc -l)" = 10 ] || die '010 is not 10'
  call dataset make "$tmp/other" --count 10 --size lognormal:24
  expect_error 2 --size
  call --verbose plan "$catalog" --order lba --order random --depth 4 --depth 4
  expect_status 0
  [[ $err == *'--order is given 2 times, and the last one counts, random: several are one list, --order lba,random'* && $err != *--depth* ]] ||
    die "a cell that goes without a word: $err"
  call plan "$catalog" --order lba --order random
  [ -z "$err" ] || die "not quiet: $err"
  call run --catalog "$catalog" --verify --no-check
  expect_error 2 --no-check 'leave one out'
  call run --catalog "$catalog" --no-probe --probe-layers
  expect_error 2 --probe-layers --no-probe
  call plan --order lba "$catalog" # a value is one word: what follows is the catalog
  expect_status 0
  call plan "$catalog" --merge-gap 64KB/s
  expect_error 2 --merge-gap "'64KB/s'"
}

# A spec's key, a disk, a folder: what is there is named.
near_misses() {
  echo 'ordr = "lba"' >"$tmp/near.toml"
  call run "$tmp/near.toml" --catalog "$catalog"
  expect_error 2 "$tmp/near.toml:1:1: 'ordr'" 'did you mean order?'
  printf 'repeats = 2\n\n[[cell]]\norder = "lba"\n  [[cell]]\n  order = "sideways"\n' >"$tmp/near.toml"
  call run "$tmp/near.toml" --catalog "$catalog"
  expect_error 2 "$tmp/near.toml:6:11: --order: " sideways
  call run "$tmp/near.toml" --catalog "$catalog" --order upwards
  expect_error 2 '--order: ' upwards
  [[ $err != *near.toml* ]] || die "the command line's own value: $err"
  printf 'depth = "many"\n' >"$tmp/near.toml"
  call run "$tmp/near.toml" --catalog "$catalog"
  expect_error 2 "$tmp/near.toml:1:9: --depth"
  call probe nonsense0n1
  expect_error 1 'nonsense0n1: no such disk' 'disks here: '
  mkdir "$tmp/sealed"
  if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
    # shellcheck disable=SC2016
    err=$("${own_mounts[@]}" bash -c 'mount -t tmpfs -o ro,mode=0755 none "$1" && shift && exec "$@"' \
      bash "$tmp/sealed" "$blksweep" --quiet run --catalog "$catalog" "${plain[@]}" --db "$tmp/sealed/new.db" 2>&1 >/dev/null) || true
    [[ $err == *'Read-only file system'* ]] || die "a read-only folder: $err"
    # shellcheck disable=SC2016
    err=$("${own_mounts[@]}" bash -c 'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"' \
      bash "$blksweep" --quiet cache drop 2>&1 >/dev/null) || true
    [[ $err == *'drop_caches: Read-only file system; it is mounted read-only, for root too'* ]] || die "root without rights: $err"
  fi
}

# A default that cannot hold the data gives way, and says so; what was asked for does not.
large_sample() {
  mkdir "$tmp/large"
  truncate -s 80M "$tmp/large/file"
  err=$("$blksweep" run --data "$tmp/large" "${plain[@]}" --shuffle reservoir --json 2>&1 >"$tmp/.out") || die "$err"
  [[ $err == *'window: 81 MiB in place of 64 MiB, for a sample of 80 MiB'* ]] || die "$err"
  call run --data "$tmp/large" "${plain[@]}" --shuffle reservoir --window 64MiB
  expect_error 2 '--window 64 MiB' '80 MiB' '--window to at least 80MiB'
  rm -r "$tmp/large"
}

missing_things() {
  call catalog "$tmp/missing" -o "$tmp/a.cat"
  expect_error 1 "$tmp/missing" "No such file or directory"
  call catalog "$data" -o "$tmp/missing/a.cat"
  expect_error 1 "$tmp/missing/a.cat"
  call run --catalog "$tmp/missing.cat" "${plain[@]}"
  expect_error 1 "$tmp/missing.cat" "No such file or directory"
  call run --data "$tmp/missing" "${plain[@]}"
  expect_error 1 "$tmp/missing"
  call report "$tmp/missing.db" -o "$tmp/report"
  expect_error 1 "$tmp/missing.db"
  call run "$tmp/missing.toml" --catalog "$catalog"
  expect_error 1 "$tmp/missing.toml"
  mkdir "$tmp/empty"
  call catalog "$tmp/empty" -o "$tmp/a.cat"
  expect_error 1 "$tmp/empty" "no samples"
}

# flip FILE OFFSET
flip() {
  /usr/bin/python3 - "$1" "$2" <<'PY'
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2]))
    byte = f.read(1)[0]
    f.seek(int(sys.argv[2]))
    f.write(bytes([byte ^ 0x10]))
PY
}

damaged_catalog() {
  local size at
  size=$(stat -c %s "$catalog")
  for ((at = 0; at < size; at += size / 40 + 1)); do
    cp "$catalog" "$tmp/flipped.cat"
    flip "$tmp/flipped.cat" "$at"
    call plan "$tmp/flipped.cat"
    expect_error 1 "$tmp/flipped.cat" "blksweep catalog"
  done
  head -c $((size / 2)) "$catalog" >"$tmp/half.cat"
  call plan "$tmp/half.cat"
  expect_error 1 "$tmp/half.cat" "blksweep catalog"
  : >"$tmp/nothing.cat"
  call plan "$tmp/nothing.cat"
  expect_error 1 "$tmp/nothing.cat"
}

# docs/catalog-format.md: the version is the 32-bit number at byte 8, the header's size follows it.
other_version() {
  cp "$catalog" "$tmp/version.cat"
  printf '\143\000\000\000\000\002\000\000' | dd of="$tmp/version.cat" bs=1 seek=8 conv=notrunc status=none
  call plan "$tmp/version.cat"
  expect_error 1 "$tmp/version.cat" "version 99" "blksweep catalog"
}

# changed NAME COMMAND: one file of a copy of the data changes between catalog and run.
changed() {
  local name=$1 victim
  cp -r "$data" "$tmp/$name"
  make_catalog "$tmp/$name" "$tmp/$name.cat"
  victim=$(find "$tmp/$name" -type f -size +0 | sort | sed -n 1p)
  "change_$name" "$victim"
  status=0
  "$blksweep" run --catalog "$tmp/$name.cat" "${plain[@]}" >"$tmp/.out" 2>"$tmp/.err" || status=$?
  out=$(cat "$tmp/.out") err=$(cat "$tmp/.err")
  expect_status 1 3
  [[ $out$err == *"$(basename "$victim")"* ]] || die "$name: $victim is not named"
}
change_truncated() { truncate -s 10 "$1"; }
change_replaced() {
  cp "$1" "$1.new"
  mv "$1.new" "$1"
}
change_removed() { rm "$1"; }

no_permission() {
  mkdir "$tmp/closed"
  chmod 700 "$tmp" "$tmp/closed"
  chmod 000 "$tmp/closed"
  call as_nobody catalog "$tmp/closed" -o "${tmp%/*}/none.$$.cat" # in a folder where he can write
  expect_error 1 "$tmp/closed" "Permission denied"
}

runs_in() { sqlite3 -readonly "$1" 'SELECT count(*) FROM run'; }

no_database() {
  echo 'Dear diary' >"$tmp/diary.txt"
  call run --catalog "$catalog" "${plain[@]}" --db "$tmp/diary.txt"
  expect_error 1 "$tmp/diary.txt" "not a blksweep database"
  [ "$(cat "$tmp/diary.txt")" = 'Dear diary' ] || die "a file that is no database was changed"
  sqlite3 "$tmp/foreign.db" 'CREATE TABLE song (name TEXT); INSERT INTO song VALUES ("x")'
  call run --catalog "$catalog" "${plain[@]}" --db "$tmp/foreign.db"
  expect_error 1 "$tmp/foreign.db" "not a blksweep database"
  [ "$(sqlite3 "$tmp/foreign.db" .tables)" = song ] || die "another program's database was changed"
  call report "$tmp/diary.txt" -o "$tmp/report"
  expect_error 1 "$tmp/diary.txt"
}

locked_database() {
  local before holder
  call run --catalog "$catalog" "${plain[@]}" --db "$tmp/locked.db"
  expect_status 0
  before=$(runs_in "$tmp/locked.db")
  mkfifo "$tmp/release" "$tmp/ready"
  sqlite3 "$tmp/locked.db" 'BEGIN EXCLUSIVE' ".shell echo > $tmp/ready; cat $tmp/release" ROLLBACK &
  holder=$!
  end_at_exit "$holder"
  read -r <"$tmp/ready" || true
  call run --catalog "$catalog" "${plain[@]}" --seed 2 --db "$tmp/locked.db"
  expect_error 1 "$tmp/locked.db" "locked by another process"
  echo >"$tmp/release"
  wait "$holder"
  [ "$(runs_in "$tmp/locked.db")" = "$before" ] || die "a locked database lost or gained runs"
}

full_disk() {
  local before
  if [ "$(id -u)" != 0 ] || ! mkdir "$tmp/small" || ! mount -t tmpfs -o size=2M,mode=0755 tmpfs "$tmp/small" 2>/dev/null; then
    echo 'SKIP: full disk: needs root to mount a small tmpfs'
    skipped=1
    return
  fi
  at_exit "umount '$tmp/small'"
  call run --catalog "$catalog" "${plain[@]}" --db "$tmp/small/results.db"
  expect_status 0
  before=$(runs_in "$tmp/small/results.db")
  [ "$before" -gt 0 ] || die "the first run is not stored"
  dd if=/dev/zero of="$tmp/small/filler" bs=4k 2>/dev/null || true
  call run --catalog "$catalog" "${plain[@]}" --seed 2 --repeats 3 --db "$tmp/small/results.db"
  expect_error 1 "$tmp/small/results.db"
  call run --catalog "$catalog" "${plain[@]}" --db "$tmp/small/new.db"
  expect_error 1 "$tmp/small/new.db: disk full"
  [ ! -e "$tmp/small/new.db" ] || die "an empty database is left"
  rm "$tmp/small/filler"
  [ "$(runs_in "$tmp/small/results.db")" -ge "$before" ] || die "a full disk lost finished runs"
  [ "$(sqlite3 "$tmp/small/results.db" 'PRAGMA integrity_check')" = ok ] || die "the database is damaged"
}

# A run of fewer samples than the folder has says so: it is another epoch.
left_out_samples() {
  local folder=$tmp/shards
  mkdir "$folder"
  tar -C "$data" -cf "$folder/whole.tar" .
  head -c 20000 "$folder/whole.tar" >"$folder/cut.tar"
  ln -s nowhere "$folder/lost"
  truncate -s 5G "$folder/large" || return 0
  call run --data "$folder" --db "$tmp/shards.db" "${plain[@]}" --no-ceiling
  expect_status 0
  sqlite3 "$tmp/shards.db" 'SELECT text FROM warning' >"$tmp/told"
  for name in cut.tar lost large; do
    grep "1 of the folder's entries: .*left out.*the first: $name" "$tmp/told" >/dev/null ||
      die "$name is left out without a word: $(cat "$tmp/told")"
  done
}

# Sizes that no memory plans: said at once, nothing taken.
endless_data() {
  mkdir "$tmp/endless"
  for i in $(seq 1000); do
    truncate -s 3G "$tmp/endless/$i" || return 0
  done
  make_catalog "$tmp/endless" "$tmp/endless.cat"
  call plan "$tmp/endless.cat" --merge-max 4KiB --epochs 4
  expect_error 1 'more than' 'reads' '--merge-max'
}

skipped=0
make_data "$data" 60
make_catalog "$data" "$catalog"
wrong_options
missing_things
near_misses
large_sample
left_out_samples
damaged_catalog
other_version
changed truncated
changed replaced
changed removed
no_database
locked_database
full_disk
no_permission
endless_data
[ "$skipped" = 0 ] || skip 'full disk: needs root to mount a small tmpfs; all else passed'
