#!/usr/bin/env bash
# Other loaders beside ours (docs/peers.md): the same conditions, and nothing that a peer says or does wrong is taken
# for a result. The fake one needs no library; ours are run where theirs are installed.
# Side by side: it judges no time and no cache, and changes nothing of the node.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"

here=$(realpath "$(dirname "$0")")
cp "$here/../support/fake_peer.py" "$tmp/fake"
make_data "$tmp/data" 300
quick=(--data "$tmp/data" --no-probe --no-ceiling --batch 64 --json)

# run OPTION... : one round of a cell of ours and of the peers
run() {
  call run "${quick[@]}" --no-check "$@"
}
peer() { # PYTHON TEXT : of the last run of a peer, `p`
  expect "$2" "next(p for p in reversed(runs) if p['cell']['peer']) and (lambda p: $1)(next(p for p in reversed(runs) if p['cell']['peer']))"
}

# --- beside ours, in the same rounds ---------------------------------------------------------------
run --order random,lba --merge none,file --peer "$tmp/fake" --peer-workers 1,2 --repeats 2
expect_status 0
expect 'four cells of ours, two of the peer, two rounds' 'len(runs) == 12'
peer "p['samples'] == 300 and p['missing_samples'] == 0 and p['bytes'] == 300 * 4096 and p['epoch_ns'] > 0" 'all of it'
peer "p['startup_ns'] > 0 and p['peer_reads'] == 'files' and p['cell']['order'] is None and p['reads_submitted'] is None" \
  'what it cannot know is unknown'
expect 'each of ours has both, ours over theirs' 'all(len(r["peers"]) == 2 and all(abs(q["ratio"] * q["samples_per_s"] / r["samples_per_s"] - 1) < 1e-9 for q in r["peers"])
  for r in runs if not r["cell"]["peer"])'
expect 'the same order as ours by the same seed' '
  {r["emission_hash"] for r in runs if r["cell"]["peer"] and r["repeat"] == 0} ==
  {r["emission_hash"] for r in runs if r["cell"]["order"] == "random" and r["cell"]["merge"] == "none" and r["repeat"] == 0}'

run --peer "$tmp/fake" --epochs 2 --compute 1ms
expect_status 0
peer "p['samples'] == 600 and p['utilisation'] > 0 and p['account'] is None" 'two epochs, and the consumer'

cat >"$tmp/spec.toml" <<TOML
[[cell]]
peer = "$tmp/fake"
peer-workers = 3
TOML
call run "$tmp/spec.toml" "${quick[@]}" --no-check --db "$tmp/results.db"
expect_status 0
expect 'in a spec a cell of a peer is that cell' 'len(runs) == 1 and run["cell"]["peer-workers"] == 3'
call run "$tmp/spec.toml" "${quick[@]}" --no-check --db "$tmp/results.db"
expect_status 0
[ "$(sqlite3 "$tmp/results.db" 'SELECT count(*) FROM run')" = 1 ] || die 'what is in the database is not measured again'
# Edited since, it is another loader: another experiment, not two more repeats of that one.
echo '# edited' >>"$tmp/fake"
call run "$tmp/spec.toml" "${quick[@]}" --no-check --db "$tmp/results.db"
expect_status 0
[ "$(sqlite3 "$tmp/results.db" 'SELECT count(*) FROM experiment')" = 2 ] || die 'two programs are one peer'

# --- a form of its own -----------------------------------------------------------------------------
run --peer "$tmp/fake:form"
expect_error 1 'peer' 'ended with status 1 before it was ready'
cd "$tmp"
run --peer ./fake:form --peer-data forms/
cd - >/dev/null
expect_status 0
peer "p['peer_reads'] == 'own form'" 'it is told'
[ "$(find "$tmp/forms" -name all | wc -l)" = 1 ] || die 'one form'
run --peer "$tmp/fake:form" --peer-data "$tmp/forms"
echo '# it may pack in another way now' >>"$tmp/fake"
run --peer "$tmp/fake:form" --peer-data "$tmp/forms"
[ "$(find "$tmp/forms" -name all | wc -l)" = 3 ] || die "a form of another text of the program: $(find "$tmp/forms" -name all)"
run --peer "$tmp/fake:form" --peer-data "$tmp/forms2" --batch 32,64
expect_status 0
expect 'no start-up has the making of a form in it' \
  'len(runs) == 4 and not any("made" in (r["engine_features"] or "") for r in runs)'
run --peer "$tmp/fake:small" --peer-data "$tmp/forms"
expect_status 3
peer "'its own form of the 1.17 MiB of data holds 4 KiB' in p['incomplete_reason']" 'a form that does not hold the data'
if [ "$(stat -c %d /dev/shm)" != "$(stat -c %d "$tmp")" ]; then
  run --peer "$tmp/fake:form" --peer-data "/dev/shm/blksweep-peers-$$"
  rmdir "/dev/shm/blksweep-peers-$$"
  expect_error 1 --peer-data 'is not on the filesystem of'
fi

# --- what is wrong is no result --------------------------------------------------------------------
# fault VARIANT TEXT : an incomplete run whose reason has the text; ours beside it is whole
fault() {
  run --peer "$tmp/fake:$1" --repeats 1 "${@:3}"
  expect_status 3
  peer "p['incomplete'] and '''$2''' in p['incomplete_reason']" "$1: '$2'"
  expect "$1: ours is whole" 'all(not r["incomplete"] and not r["peers"] for r in runs if not r["cell"]["peer"])'
}
fault dies "fake:dies ended with status 1 before its end: ValueError: it had enough"
fault garbage "fake:garbage printed what is no event: 'loading \\\\x1b[2J"
fault bytes 'batch 1 has 262145 bytes, its samples have 262144'
fault missing '64 samples missing'
fault twice '1 samples came more than once in an epoch'
fault hangs 'was ended before its end after 1 s' --peer-timeout 1s
! kill -0 "$(cat "$tmp/left")" 2>/dev/null || die 'what it started has ended with it'
fault idle 'was computed with for' --compute 20ms
call run "${quick[@]}" --peer "$tmp/fake:hash"
expect_status 3
peer "p['incomplete'] and p['checked_wrong'] == p['checked_pieces'] == 64 and len(p['failed']) > 0" 'a sample is checked'
call run "${quick[@]}" --verify --peer "$tmp/fake:hash"
expect_status 3
peer "p['wrong_samples'] == 300" 'all are verified'
call run "${quick[@]}" --verify --peer "$tmp/fake"
peer "'300 samples have no hash' in p['incomplete_reason']" 'no hash is no proof'
run --peer "$tmp/fake:leaves"
expect_status 0
peer "any('processes that it had started' in w for w in p['warnings'])" 'what it left behind is told'
! kill -0 "$(cat "$tmp/left")" 2>/dev/null || die 'and ended'

# Alone, because what comes next would find its files changed, too.
sed "s|^peer = .*|peer = \"$tmp/fake:rewrites\"|" "$tmp/spec.toml" >"$tmp/rewrites.toml"
call run "$tmp/rewrites.toml" "${quick[@]}" --no-check
expect_status 3
peer "'1 of 300 files changed during the run' in p['incomplete_reason']" 'files that change under a peer'

# --- before anything is measured -------------------------------------------------------------------
run --peer "$tmp/fake:unable"
expect_error 77 'fake:unable' 'it needs a thing that is not here'
run --peer no-such-loader
expect_error 2 "'no-such-loader'" torch
run --peer "$tmp/nothing"
expect_error 2 "--peer $tmp/nothing" 'No such file'
run --peer torch --compute 1ms --consumer gemm
expect_error 2 'a peer emulates its consumer'

# --- Ctrl-C ----------------------------------------------------------------------------------------
rm -f "$tmp/left"
background run "${quick[@]}" --no-check --peer "$tmp/fake:hangs"
for _ in {1..400}; do
  [ ! -s "$tmp/left" ] || break
  sleep 0.05
done
kill -INT "$pid"
ended
expect_status 130
! kill -0 "$(cat "$tmp/left")" 2>/dev/null || die 'after Ctrl-C nothing stays'

# At once: a second Ctrl-C takes its process group along; SIGKILL leaves what ends with its parent.
rm -f "$tmp/left"
export TMPDIR=$tmp # nobody is left to remove the question's folder
background run "${quick[@]}" --no-check --peer "$tmp/fake:waits"
await_left() {
  for _ in {1..400}; do
    [ ! -s "$tmp/left" ] || return 0
    sleep 0.05
  done
  die 'the peer did not start'
}
await_left
kill -INT "$pid"
kill -INT "$pid"
ended
gone() { # PID : or a zombie that nobody has waited for yet
  for _ in {1..200}; do
    case $(ps -o stat= -p "$1") in '' | Z*) return 0 ;; esac
    sleep 0.05
  done
  return 1
}
gone "$(cat "$tmp/left")" || die 'after a second Ctrl-C something stays'
rm -f "$tmp/left"
background run "${quick[@]}" --no-check --peer "$tmp/fake:waits"
await_left
kill -KILL "$pid"
ended
gone "$(cat "$tmp/left")" || die 'after SIGKILL something stays'
unset TMPDIR

# --- the example of the page -----------------------------------------------------------------------
sed -n '/<!-- example -->/,/^```$/p' "$here/../../docs/peers.md" | sed '1,2d;$d' >"$tmp/mine.py"
chmod +x "$tmp/mine.py"
[ "$(grep -c . "$tmp/mine.py")" -le 34 ] || die 'the example is short'
with_hash=0
! "$python" -c 'import xxhash' 2>/dev/null || with_hash=1
if [ "$with_hash" = 1 ]; then
  call run "${quick[@]}" --verify --compute 1ms --peer "$tmp/mine.py"
  expect_status 0
  peer "p['wrong_samples'] == 0 and p['engine_features'] == 'plain Python'" 'the example is a peer'
fi

# --- as root: inside its limits, on its CPUs, and no program of strangers ------------------------------
if [ "$(id -u)" = 0 ]; then
  run --peer "$tmp/fake" --bind reader=cpu:0/openers=cpu:0/copy=cpu:0/consumer=cpu:1 --memory-limit 256MiB
  if [ "$status" = 0 ]; then
    peer "p['engine_features'] == 'cpus [0, 1] limited True'" 'the CPUs of all roles, the cgroup of the run'
  else
    expect_status 77
  fi
  run --peer "$tmp/fake:memory" --cache cold
  expect_status 3
  peer "'not cold' in p['incomplete_reason'] or 'cold' in p['incomplete_reason']" 'what was read before is no cold run'
  cp "$tmp/fake" "$tmp/strange"
  chown "$nobody" "$tmp/strange"
  run --peer "$tmp/strange"
  expect_error 1 "$tmp/strange" 'can be written to by'
  chown root "$tmp/strange"
  mkdir -m 777 "$tmp/open"
  mv "$tmp/strange" "$tmp/open"
  run --peer "$tmp/open/strange"
  expect_error 1 "$tmp/open"
  chown "$nobody" "$tmp/spec.toml"
  call run "$tmp/spec.toml" "${quick[@]}"
  expect_error 2 "'peer' in a file of another user"
fi

# In a warm run no device proves what was read: what system calls did not read is told.
run --peer "$tmp/fake:memory" --cache warm
expect_status 0
peer "any('its system calls read' in w and 'after go, of 1.17 MiB' in w for w in p['warnings'])" 'memory of its own is told'
run --peer "$tmp/fake" --cache warm
peer "not any('system calls' in w for w in p['warnings'])" 'what reads is not accused'

# --- ours ------------------------------------------------------------------------------------------
for needed in torch:torch blksweep:numpy zarr:zarr,dask tar:tarfile memmap:numpy; do
  name=${needed%%:*}
  if [ "$with_hash" = 0 ] || ! "$python" -c "import ${needed#*:}" 2>/dev/null; then
    run --peer "$name" --peer-data "$tmp/forms"
    expect_error 77 "peer $name"
    lacking=1
    continue
  fi
  [ "$name" != zarr ] || name=zarr,zarr:7,zarr:sample
  [ "$name" != blksweep ] || name=blksweep:random,blksweep:lba:file:20,blksweep:chunked:kernel:50
  call run "${quick[@]}" --verify --peer "$name" --peer-data "$tmp/forms" --peer-workers 0,2 --epochs 2
  expect_status 0
  expect "$name: every sample, with the bytes of its file" \
    'all(r["samples"] == 600 and r["wrong_samples"] == 0 and not r["incomplete"] for r in runs)'
done
[ -z "${lacking:-}" ] || skip 'the rest needs python3-torch, python3-zarr, python3-dask, python3-xxhash (install-deps.sh peers)'
