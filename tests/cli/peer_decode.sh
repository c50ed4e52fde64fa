#!/usr/bin/env bash
# Peers that decode (docs/peers.md): PyTorch's DataLoader and our package deliver the same pixels, say in words whether
# their loop is decode-bound, and name the file that cannot be decoded.
# Side by side: of times only shares of a run's own are looked at, where they are far from the bound; its files stay cached.
set -euo pipefail
# shellcheck source=tests/cli/helpers.bash
. "$(dirname "$0")/helpers.bash"
scripts=$(realpath "$(dirname "$0")/../../scripts")
have_modules torch xxhash PIL numpy || skip 'needs python3-torch, python3-xxhash, python3-pil (install-deps.sh peers)'
export PYTHONDONTWRITEBYTECODE=1

# On a disk of their own, so that what a peer loads of its libraries is not counted as data.
# shellcheck source=scripts/loopfs.sh
. "$scripts/loopfs.sh"
at_exit loopfs_remove
loopfs_make "$tmp/image" "$tmp/mount" 64M ext4 || skip "$loopfs_reason"
"$python" "$scripts/experiments/jpeg_files.py" "$tmp/mount" 24 440KiB  # decoded in some 10 ms each
data=$tmp/mount/440KiB
# What somebody has mapped stays in the page cache when another script drops it.
"$python" - "$data" >"$tmp/mapped" <<'PY' &
import mmap, os, signal, sys
maps = [mmap.mmap(os.open(entry.path, os.O_RDONLY), 0, mmap.MAP_SHARED | mmap.MAP_POPULATE, mmap.PROT_READ) for entry in os.scandir(sys.argv[1])]
print(len(maps), flush=True)
signal.pause()
PY
end_at_exit "$!"
until [ -s "$tmp/mapped" ] || ! kill -0 $! 2>/dev/null; do sleep 0.05; done
[ -s "$tmp/mapped" ] || die 'its files could not be mapped'
decode() { # OPTION... : rounds of peers, all samples hashed
  call run --data "$data" --no-probe --no-ceiling --verify --batch 8 --json "$@"
}
theirs() { # PYTHON TEXT : holds of every run `r` of a peer
  expect "$2" '(lambda peers: peers and all('"$1"' for r in peers))([r for r in runs if r["cell"]["peer"]])'
}

# --- the same pixels, which are those of the files; a decoder that is slow is the bound -----------------
# Files in memory: all that there is to wait for is the decoder. A machine that stands still meanwhile spoils a try.
slow_decoder() {
  rm -f "$tmp/results.db"
  decode --cache warm --peer-workers 1 --epochs 2 --db "$tmp/results.db" \
    --peer torch,torch:jpeg,blksweep:lba:none:buffered:jpeg,torch:raw,blksweep:lba:none:buffered:raw
  expect_status 0
  theirs 'r["wrong_samples"] == 0 and r["samples"] == 48' 'every sample, from the bytes of its file'
  # Of DataLoader's pixels the way from its worker is waited for, too: where memory is slow as long as for decoding.
  theirs '(r["decode_bound"], r["decoders"]) == {"blksweep:lba:none:buffered:jpeg": (True, 1), "torch:jpeg": (r["decode_bound"], 1)}.get(
    r["cell"]["peer"], (False, 0) if r["cell"]["peer"].endswith("raw") else (None, None))' \
    'where decoding is all that there is to wait for it is the bound; where nothing is decoded, or told of it, it is not'
  theirs 'r["cell"]["peer"] != "torch:jpeg" or 0.2 < r["decode_wait"] <= 1 and r["decode_bound"] == (r["decode_wait"] >= 0.5)' \
    'a large part of the wait for DataLoader is for its decoder'
  # Where DataLoader's way for as many raw bytes would take less than half of the time, its decoder is the bound here, too.
  expect 'DataLoader, too, where bytes come quickly' '(lambda of: of["torch:jpeg"]["decode_bound"] or
    of["torch:raw"]["epoch_ns"] * 2250 / 430 > of["torch:jpeg"]["epoch_ns"] / 2)({r["cell"]["peer"]: r for r in runs})'
  "$python" - "$data" "$tmp/.out" <<'PY' || die 'what is delivered differs'
import json, os, sys
import xxhash
from PIL import Image
found = {}
for run in json.load(open(sys.argv[2]))["runs"]:
    if run["decode_hash"]:
        found.setdefault(run["cell"]["peer"].rpartition(":")[2], []).append(run["decode_hash"])
paths = [os.path.join(sys.argv[1], name) for name in sorted(os.listdir(sys.argv[1]))]
parts = {"raw": [open(path, "rb").read() for path in paths], "jpeg": [Image.open(path).convert("RGB").tobytes() for path in paths]}
assert len(parts["jpeg"][0]) == 1000 * 750 * 3 and 410_000 < len(parts["raw"][0]) < 451_000
sums = {form: 2 * sum(xxhash.xxh3_64_intdigest(part, seed=i) for i, part in enumerate(of)) % 2**64 for form, of in parts.items()}
assert found == {form: 2 * [f"{value:016x}"] for form, value in sums.items()}, (found, sums)
PY
  call report "$tmp/results.db"
  [[ $out == *'waits for decoding'*' %, decode-bound'* && $out == *'0 %, not decode-bound'* ]] || die 'the table does not say so'
}
in_three_tries slow_decoder

# --- decoding behind a long computation is not the bound -------------------------------------------------
both=torch:jpeg,blksweep:lba:none:buffered:jpeg
long_computation() {
  decode --peer "$both" --peer-workers 2 --compute 500ms
  expect_status 0
  theirs 'r["decode_bound"] is False and 0 < r["decode_wait"] < 0.5' 'the loop waited for its computation'
}
in_three_tries long_computation

# What is busy counts only while the loop waits, and in part where not all decoders are.
"$python" - "$scripts/peers" <<'PY' || die 'the share is computed otherwise'
import sys
sys.path.insert(0, sys.argv[1])
from decoding import busy_while_waiting as busy
assert busy([(0, 10)], [(0, 10)], 1) == 10
assert busy([(0, 10)], [(0, 10)], 2) == 5
assert busy([(0, 10), (0, 10), (0, 10)], [(0, 4), (6, 10)], 2) == 8, "more than there are CPUs are no more than busy"
assert busy([(0, 4), (20, 30)], [(4, 20)], 1) == 0, "decoded ahead"
assert busy([(2, 6)], [(0, 10)], 1) == 4, "it waited for reads"
assert busy([], [(0, 10)], 1) == busy([(0, 10)], [], 1) == 0
PY

# --- a decoder that has nothing to do is not one that could be busy -----------------------------------------
one_at_a_time() { # the package decodes a batch when it is asked for: of one sample, on one of its threads
  decode --cache warm --peer-workers 2 --batch 1 --peer blksweep:lba:none:buffered:jpeg
  expect_status 0
  theirs 'r["decode_bound"] is True and r["decoders"] == 2' 'there is nothing else to wait for'
}
in_three_tries one_at_a_time

# --- what cannot be decoded -------------------------------------------------------------------------------
broken() { # WORKERS TEXT : each peer's run is incomplete, and says why in a line with the file's name
  decode --peer "$both" --peer-workers "$1"
  expect_status 3
  theirs '"000007.jpg: cannot be decoded as JPEG: '"$2"'" in r["incomplete_reason"] and not any(
    text in r["incomplete_reason"] for text in ("\n", "Traceback", "Undecodable"))' 'it names the file'
}
truncate -s 50000 "$data/000007.jpg"
broken 2 'image file is truncated'
head -c 50000 /dev/zero >"$data/000007.jpg"
broken 0 'cannot identify image file'

# --- before anything is measured -----------------------------------------------------------------------
decode --peer tar:jpeg --peer-data "$tmp/mount/forms"
expect_error 1 'tar:jpeg' 'it decodes nothing'
decode --peer torch:png
expect_error 1 'torch:png' 'torch:raw and torch:jpeg'
