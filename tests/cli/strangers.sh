#!/usr/bin/env bash
# Root acts on what others wrote: nothing that they plant is run, followed, played back, waited for or
# shown to the terminal as a command (docs/security.md). The stranger is nobody.
# Side by side: neither its caches nor its times are looked at, and it changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
# shellcheck source=tests/cli/stranger_helpers.bash
. "$(dirname "$0")/stranger_helpers.bash"

make_data "$mine/data" 40
make_catalog "$mine/data" "$mine/data.cat"
call run --catalog "$mine/data.cat" --buffered --cache keep --order path,random --no-probe --no-ceiling \
  --db "$mine/results.db"
expect_status 0
db=$mine/results.db

# --- code in the caller's folder ------------------------------------------------------------------
install -d -o nobody "$theirs/code"
for module in numpy matplotlib sitecustomize usercustomize sqlite3 argparse common; do
  echo "open('$mine/ran-$module', 'w')" >"$theirs/code/$module.py"
done
echo 'backend: module://numpy' >"$theirs/code/matplotlibrc"
for program in fio python3 mkfs.ext4 blkid; do
  printf '#!/bin/sh\ntouch %s\nexit 1\n' "$mine/ran-$program" >"$theirs/code/$program"
  chmod 755 "$theirs/code/$program"
done
give "$theirs/code"
cd "$theirs/code"
PATH=$theirs/code:$PATH PYTHONPATH=$theirs/code MATPLOTLIBRC=$theirs/code call doctor "$mine/data"
PATH=$theirs/code:$PATH PYTHONPATH=$theirs/code MATPLOTLIBRC=$theirs/code call report "$db" -o "$mine/report"
expect_status 0
PATH=$theirs/code:$PATH call run --catalog "$mine/data.cat" --buffered --cache keep --fio-twin --no-probe --no-ceiling
cd "$tmp"
# A program that lies where everybody may put a folder beside it.
install -d -m 1777 "$tmp/shared/bin"
cp "$blksweep" "$tmp/shared/bin/blksweep"
for scripts in "$tmp/shared/scripts" "$tmp/shared/bin/scripts"; do
  chmod 1777 "$(dirname "$scripts")"
  install -d -o nobody "$scripts" "$scripts/figures"
  echo "open('$mine/ran-report', 'w')" >"$scripts/figures/report.py"
  give "$scripts"
  err=$("$tmp/shared/bin/blksweep" report "$db" -o "$mine/report-2" 2>&1 >/dev/null) || true
  [[ $err == *"$scripts"*'belongs to nobody'* ]] || die "scripts of nobody: $err"
  mv "$scripts" "$tmp/shared/last"
done
mv "$tmp/shared/last" "$scripts"
chown root "$scripts" "$scripts/figures"
chmod 755 "$tmp/shared/bin"
err=$("$tmp/shared/bin/blksweep" report "$db" -o "$mine/report-2" 2>&1 >/dev/null) || true
[[ $err == *'report.py can be written to by nobody'* ]] || die "a script of nobody: $err"
ran=$(find "$mine" -maxdepth 1 -name 'ran-*')
[ -z "$ran" ] || die "root ran what nobody planted: $ran"
[ -s "$mine/report/report.html" ] || die 'no report'
echo 'code: fine'

# --- databases ----------------------------------------------------------------------------------------
sum() { sha256sum "$@" | sha256sum; }
cp "$db" "$theirs/results.db"
"$python" "$(dirname "$refuse_call")/hot_journal.py" "$theirs/results.db" || die 'no hot journal'
give "$theirs"
before=$(sum "$theirs/results.db" "$theirs/results.db-journal")
for verb in "report $theirs/results.db" "timeline --db $theirs/results.db -o -" \
  "run --catalog $mine/data.cat --buffered --no-probe --no-ceiling --db $theirs/results.db"; do
  # shellcheck disable=SC2086
  call $verb
  expect_error 1 'belongs to nobody'
done
[ "$(sum "$theirs/results.db" "$theirs/results.db-journal")" = "$before" ] || die 'a journal of nobody was played back'
# A journal of theirs beside a database of mine; a link; a folder in which they can plant one.
cp "$db" "$mine/own.db"
cp "$theirs/results.db-journal" "$mine/own.db-journal"
give "$mine/own.db-journal"
call report "$mine/own.db"
expect_error 1 'own.db-journal belongs to nobody'
rm "$mine/own.db-journal"
ln -s "$mine/own.db" "$mine/link.db"
call report "$mine/link.db"
expect_error 1 'symbolic link'
call run --catalog "$mine/data.cat" --buffered --no-probe --no-ceiling --db "$theirs/new.db"
expect_error 1 'belongs to nobody' 'plant files'
[ ! -e "$theirs/new.db" ] || die 'a database was made in a folder of nobody'
# My own, where nobody can give it a journal between look and read.
install -d -o nobody "$theirs/folder"
cp "$db" "$theirs/folder/mine.db"
call report "$theirs/folder/mine.db" --no-figures
expect_error 1 'belongs to nobody' 'plant files'
# Mine, cut off: played back, as it must be.
cp "$db" "$mine/cut.db"
"$python" "$(dirname "$refuse_call")/hot_journal.py" "$mine/cut.db"
call report "$mine/cut.db"
expect_status 0
[ ! -e "$mine/cut.db-journal" ] || die 'a journal of ours was left'
# A schema that is not ours: a table that never ends.
cp "$db" "$mine/view.db"
sqlite3 "$mine/view.db" 'DROP VIEW good_run; CREATE VIEW good_run AS
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM run, n'
call report "$mine/view.db" -o "$mine/report-view"
expect_error 1 'good_run is not as this blksweep makes it'
# Another user may read what root wrote, and changes nothing.
cp "$db" "$theirs/shared.db"
chmod 644 "$theirs/shared.db"
call as_nobody report "$theirs/shared.db"
expect_status 0
echo 'databases: fine'

# --- links ---------------------------------------------------------------------------------------------
install -d -o nobody "$theirs/set" "$theirs/set/a"
for i in 1 2 3; do head -c 5000 /dev/urandom >"$theirs/set/a/$i"; done
install -d -m 700 "$mine/private"
echo 'the private key of root' >"$mine/private/key"
chmod 600 "$mine/private/key"
ln -s "$mine/private/key" "$theirs/set/a/4"
ln -s "$mine/private" "$theirs/set/b"
ln -s ../../../../../../../../../../../../"$mine/private/key" "$theirs/set/a/5"
ln -s ../a/1 "$theirs/set/a/6"
chmod 600 "$theirs/set/a/2"
give "$theirs/set"
call catalog "$theirs/set" -o "$mine/set.cat" --json
expect_status 0
"$python" -c '
import json, sys
c = json.load(open(sys.argv[1]))
assert c["files"] == 4 and c["counts"]["outside_link"] == 3, c
assert any("--follow-links" in w for w in c["warnings"]), c' "$tmp/.out" || die 'links out of the folder'
for layout in files tar; do
  (umask 027 && "$blksweep" --quiet dataset pack "$theirs/set" -o "$mine/packed-$layout" --layout $layout >/dev/null) ||
    die "pack --layout $layout"
  ! grep -rq 'private key' "$mine/packed-$layout" || die "$layout: root's private file was packed"
done
[ "$(stat -c %a "$mine/packed-files/a/1".*)" = 640 ] || die 'the umask is not honoured'
[ "$(stat -c %a "$mine/packed-files/a/2".*)" = 600 ] || die 'the mode of a private source is not kept'
[ "$(stat -c %a "$mine"/packed-tar/shard_*)" = 600 ] || die 'a shard with a private sample can be read by others'
# A folder that lets nobody through protects what is in it, whatever the modes of its files.
mkdir "$theirs/shut" "$theirs/shut/private" "$theirs/shut/open"
echo secret >"$theirs/shut/private/file"
echo known >"$theirs/shut/open/file"
chmod 644 "$theirs/shut"/*/file
chmod 755 "$theirs/shut" "$theirs/shut/open"
chmod 700 "$theirs/shut/private"
ln -s ../private/file "$theirs/shut/open/link"
call dataset pack "$theirs/shut" -o "$mine/packed-shut" --layout files
expect_status 0
[ "$(stat -c %a "$mine/packed-shut/private"/file*)" = 600 ] || die 'a file of a private folder can be read by others'
[ "$(stat -c %a "$mine/packed-shut/open"/file*)" = 644 ] || die 'the mode of a source is not kept'
[ "$(stat -c %a "$mine/packed-shut/open"/link*)" = 600 ] || die 'a link leads others to a file of a private folder'
call catalog "$theirs/set" -o "$mine/all.cat" --follow-links --json
expect_status 0
grep -q '"files":7' "$tmp/.out" || die "--follow-links: $out"
(umask 077 && "$blksweep" --quiet catalog "$theirs/set" -o "$mine/umask.cat" >/dev/null)
[ "$(stat -c %a "$mine/umask.cat")" = 600 ] || die 'a catalog does not honour the umask'
# A file, and a folder, that become links after the scan.
mv "$theirs/set/a" "$theirs/set/real"
ln -s "$mine/data" "$theirs/set/a"
give "$theirs/set"
call run --catalog "$mine/set.cat" --buffered --no-probe --no-ceiling
expect_error 1 'files changed'
rm "$theirs/set/a"
mv "$theirs/set/real" "$theirs/set/a"
echo 'links: fine'

# --- a FIFO in the place of a file; sizes that are not there ---------------------------------------------
mkfifo "$theirs/fifo" "$theirs/fifo.toml"
give "$theirs/fifo" "$theirs/fifo.toml"
at_once() {
  status=0
  timeout 10 "$blksweep" --quiet "$@" >"$tmp/.out" 2>"$tmp/.err" </dev/null || status=$?
  out=$(cat "$tmp/.out")
  err=$(cat "$tmp/.err")
  expect_error 1
}
for kind in "run $theirs/fifo" "run --catalog $theirs/fifo" "plan $theirs/fifo" "report $theirs/fifo" \
  "simulate $mine/data.cat --model $theirs/fifo.toml" "cache pin --name planted --pages --list $theirs/fifo" \
  "catalog --check $theirs/fifo"; do
  # shellcheck disable=SC2086
  at_once $kind
done
make_catalog "$theirs/set" "$mine/set.cat"
mv "$theirs/set/a/1" "$theirs/set/a/.1"
mkfifo "$theirs/set/a/1"
at_once run --catalog "$mine/set.cat" --buffered --no-probe --no-ceiling
rm "$theirs/set/a/1"
mv "$theirs/set/a/.1" "$theirs/set/a/1"
truncate -s 1P "$theirs/sparse" 2>/dev/null || truncate -s 15T "$theirs/sparse"
for kind in "run $theirs/sparse" "run --catalog $theirs/sparse" "report $theirs/sparse"; do
  # shellcheck disable=SC2086
  at_once $kind
done
rm "$theirs/sparse"
echo 'what is no file: fine'

# --- a catalog that its owner changes while it is used -----------------------------------------------------
cp "$mine/data.cat" "$theirs/data.cat"
give "$theirs/data.cat"
"$blksweep" --quiet run --catalog "$theirs/data.cat" --buffered --cache keep --order path,random --repeats 20 \
  --compute 10ms --batch 10 --no-probe --no-ceiling --json >"$tmp/.out" 2>"$tmp/.err" </dev/null &
pid=$!
sleep 0.5
truncate -s 0 "$theirs/data.cat"
head -c 100000 /dev/urandom >"$theirs/data.cat"
status=0
wait "$pid" || status=$?
expect_status 0
expect 'a run is not whole' 'len(runs) == 40 and all(not r["incomplete"] for r in runs)'
echo 'catalogs: fine'

# --- outputs: only where nobody else can exchange a folder or plant a link -----------------------------------------
echo untouched >"$mine/victim"
install -d "$theirs/mine" "$mine/private/out" "$mine/figures"
ln -s "$mine/private/out" "$theirs/lnk"
give "$theirs/lnk"
for out_folder in "$theirs/report" "$theirs/mine/report" "$theirs/lnk" "$theirs/lnk/" "$theirs/lnk/."; do
  call report "$db" -o "$out_folder" --no-figures
  expect_error 1 'nobody' 'name a folder of your own'
done
for words in "catalog $mine/data -o $theirs/new.cat" "timeline 1 --db $db -o $theirs/lnk/motd" \
  "dataset make $theirs/made --count 5 --size 4KiB" "dataset pack $mine/data -o $theirs/packed" \
  "run --catalog $mine/data.cat --buffered --no-probe --no-ceiling --db $theirs/mine/new.db"; do
  # shellcheck disable=SC2086
  call $words
  expect_error 1 'nobody' 'name a folder of your own'
done
install -d -m 1777 "$mine/sticky"
chmod 711 "$mine"
call run --catalog "$mine/data.cat" --buffered --no-probe --no-ceiling --db "$mine/sticky/new.db"
expect_error 1 'everybody may put files'
chmod 700 "$mine"
[ -z "$(find "$mine/private/out" "$theirs/mine" "$mine/sticky" -type f)" ] || die 'something was written'
SUDO_UID=65534 call report "$db" -o "$theirs/report" --no-figures
expect_status 0
echo 'outputs: fine'

# --- what a spec, a table and a catalog may ask for -----------------------------------------------------------------
printf 'data = "%s"\nbuffered = true\nprobe = false\nceiling = false\n' "$mine/data" >"$theirs/spec.toml"
give "$theirs/spec.toml"
call run "$theirs/spec.toml"
expect_status 0
echo "db = \"$mine/private/nologin\"" >>"$theirs/spec.toml"
call run "$theirs/spec.toml"
expect_error 2 "'db'" 'command line only'
[ ! -e "$mine/private/nologin" ] || die 'a spec of nobody made a database'
status=0
timeout 10 "$blksweep" --quiet simulate "$mine/data.cat" --model none --compute "table:$theirs/fifo" >/dev/null 2>&1 || status=$?
[ "$status" = 2 ] || die 'a table that is a FIFO'
at_once run --catalog "$mine/all.cat" --buffered --no-probe --no-ceiling
[[ $err == *--follow-links* ]] || die 'a catalog of nobody follows links for root'
ln -s "$mine/victim" "$theirs/disk.img"
give "$theirs/disk.img"
# A table that is none shows nothing of itself; devices are looked at without opening them; links lead no pin out.
install -m 600 /dev/null "$mine/secret"
echo 'hunter2:is the word' >"$mine/secret"
call run --data "$mine/data" --compute "table:$mine/secret"
expect_error 2 'line 1: not a batch size'
[[ $err != *hunter2* ]] || die 'a line of a private file is shown'
install -d -o nobody "$theirs/pinned"
echo data >"$theirs/pinned/file"
ln -s /proc/self "$theirs/pinned/self"
ln -s "$mine" "$theirs/pinned/mine"
give "$theirs/pinned"
call cache pin --name planted --inodes --dry-run "$theirs/pinned"
grep -q 'inodes of 1 files' "$tmp/.out" || die "a pin was led out of its folder: $(cat "$tmp/.out")"
if command -v strace >/dev/null; then
  printf '/dev/loop-control\n' >"$theirs/list"
  strace -f -e trace=openat -o "$tmp/trace" "$blksweep" --quiet cache pin --name planted --pages --list "$theirs/list" 2>/dev/null || true
  grep 'loop-control' "$tmp/trace" | { ! grep -v O_PATH; } || die 'a device in a list was opened'
fi
call disk start strangers --model none --backing "$theirs/disk.img" --fs ext4 --mount "$mine/figures"
expect_error 1 'symbolic link'
# Links say neither what a disk covers nor where its file is made or found (third review).
install -d -o nobody "$theirs/places"
install -d "$mine/etc"
head -c 1M /dev/zero | tr '\0' m >"$mine/etc/image"
ln -s "$mine/etc" "$theirs/places/link"
give "$theirs/places"
call disk start strangers --model none --size 1MiB --fs ext4 --mount "$theirs/places/link"
expect_error 1 'belongs to nobody'
for file in new image; do
  call disk start strangers --model none --size 1MiB --backing "$theirs/places/link/$file"
  expect_error 1 'belongs to nobody'
done
[ "$(find "$mine/etc" -mindepth 1 -printf '%f')" = image ] || die 'a file was made behind a link of nobody'
# A name whose parts the parser would descend into, one by one.
"$python" -c 'print("a" + ".a" * 200000 + " = 1")' >"$theirs/deep.toml"
call run "$theirs/deep.toml"
expect_error 2 'more than 64 dots'
call simulate "$mine/data.cat" --model "$theirs/deep.toml"
expect_error 2 'more than 64 dots'
echo 'wishes: fine'

# --- an access list says who may write, too -------------------------------------------------------------
install -d "$mine/listed"
if "$python" - "$mine/listed" <<'PY'
import os, struct, sys
entries = [(1, 7, 2**32 - 1), (2, 7, 65534), (4, 5, 2**32 - 1), (16, 7, 2**32 - 1), (32, 5, 2**32 - 1)]
os.setxattr(sys.argv[1], "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries))
PY
then
  call run --catalog "$mine/data.cat" --buffered --no-probe --no-ceiling --db "$mine/listed/new.db"
  expect_error 1 'may be written to by others'
  echo 'access lists: fine'
else
  echo 'access lists: this filesystem has none'
fi

# --- names on the terminal, and in figures ----------------------------------------------------------------------
install -d -o nobody "$theirs/names"
escape=$(printf '\033')
# shellcheck disable=SC2016
for label in 'a$\frac{$x^$' "b${escape}]0;owned" $'c\nblksweep: all is well' 'd<script>'; do
  install -d "$theirs/names/$label"
  for i in 1 2 3; do head -c 4096 /dev/urandom >"$theirs/names/$label/$i"; done
  mkfifo "$theirs/names/$label/fifo"
done
give "$theirs/names"
"$blksweep" catalog "$theirs/names" -o "$mine/names.cat" >"$tmp/.out" 2>"$tmp/.err"
! grep -q "$escape" "$tmp/.out" "$tmp/.err" || die 'a name acts on the terminal'
! grep -q '^blksweep: all is well' "$tmp/.out" "$tmp/.err" || die 'a name speaks for us'
grep -qF 'x1b]0;owned' "$tmp/.err" || die 'the name is not shown'
call run --catalog "$mine/names.cat" --buffered --cache keep --no-probe --no-ceiling --db "$mine/names.db" \
  --disk-label 'disk $\frac{ of'
expect_status 0
call report "$mine/names.db" -o "$mine/names-report"
expect_status 0
call catalog "$theirs/names/$(printf 'x\033[2J')" -o "$mine/no.cat"
expect_status 1
! grep -q "$escape" "$tmp/.err" || die 'an error acts on the terminal'
echo 'names: fine'

# --- two sweeps at once into one database --------------------------------------------------------------------------
sweep=(run --catalog "$mine/data.cat" --buffered --cache keep --order path --repeats 10 --compute 20ms --batch 10
  --no-probe --no-ceiling --db "$mine/two.db")
"$blksweep" --quiet "${sweep[@]}" >/dev/null 2>&1 </dev/null &
pid=$!
for ((i = 0; i < 100; ++i)); do
  [ "$(sqlite3 "$mine/two.db" 'SELECT count(*) FROM run' 2>/dev/null || echo 0)" -lt 1 ] || break
  sleep 0.05
done
"$blksweep" "${sweep[@]}" >/dev/null 2>"$tmp/.err" </dev/null || die "the second sweep: $(cat "$tmp/.err")"
! kill -0 "$pid" 2>/dev/null || die 'the second sweep did not wait for the first'
wait "$pid" || die 'the first sweep'
grep -q "another sweep writes to it.*$pid" "$tmp/.err" || die "it does not say whom it waits for: $(cat "$tmp/.err")"
[ "$(sqlite3 "$mine/two.db" 'SELECT count(*), count(DISTINCT repeat) FROM run')" = '10|10' ] || die 'a repeat is there twice'
call "${sweep[@]}"
expect_status 0
echo 'two sweeps: fine'

# --- registries, pins and journals in a folder of nobody ---------------------------------------------------------------
if unshare --mount true 2>/dev/null; then
  in_their_run() {
    # shellcheck disable=SC2016
    "${own_mounts[@]}" bash -c 'mount -t tmpfs tmpfs /run && mkdir -p /run/blksweep/{pins,disks/x/io,journal} &&
      echo "{}" >/run/blksweep/disks/x/state.json && chown -R nobody /run/blksweep && exec "$@"' bash "$blksweep" --quiet "$@"
  }
  for words in 'cache list' 'cache unpin --all' 'disk stats x' 'disk stop x' 'node restore'; do
    status=0
    # shellcheck disable=SC2086
    in_their_run $words >"$tmp/.out" 2>"$tmp/.err" || status=$?
    out=$(cat "$tmp/.out")
    err=$(cat "$tmp/.err")
    [ "$status" != 0 ] || die "$words: state of nobody was believed"
    [[ $err == *'look who made it'* ]] || die "$words: does not say why"
  done
  echo 'registries: fine'
fi
