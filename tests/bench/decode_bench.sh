#!/usr/bin/env bash
# A loop that decodes JPEG files of 110 KiB and then waits for an accelerator, as long for each batch as two threads take
# to decode one: PyTorch's DataLoader with two workers, and the package with two threads, 0, 1 and 2 batches ahead. Cold,
# interleaved. A measurement, never an assertion.   REPEATS=5   FILES=400
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir "$BENCH_DIR/jpeg"
/usr/bin/python3 "$here/../../scripts/experiments/jpeg_files.py" "$BENCH_DIR/jpeg" "${FILES:-400}" 110KiB
PYTHONPATH=$(dirname "$BLKSWEEP")/python:$here /usr/bin/python3 -W ignore - "$BENCH_DIR/jpeg" "${REPEATS:-5}" <<'PY'
import io, statistics, sys, time
import blksweep.torch
from PIL import Image
from python_loop import drop_caches
from torch.utils.data import DataLoader, Dataset

BATCH, DECODERS = 16, 2
catalog = blksweep.Catalog(sys.argv[1])
paths = [catalog.file_of(i) for i in range(len(catalog))]


def decode(data):
    with Image.open(io.BytesIO(data)) as image:
        return image.convert("RGB").tobytes()


class Files(Dataset):
    def __len__(self):
        return len(paths)

    def __getitem__(self, index):
        with open(paths[index], "rb") as file:
            return decode(file.read())


def ours(ahead):
    data = blksweep.torch.Dataset(catalog, order="chunked", merge="device", shuffle="reservoir", window="16MiB", batch_size=BATCH,
                                  decode=decode, decode_workers=DECODERS, decode_ahead=ahead)
    return lambda: (samples for samples, _, _ in DataLoader(data, batch_size=None))


def seconds(batches, compute):
    drop_caches()
    begin, pixels = time.perf_counter(), 0
    for samples in batches():
        pixels += sum(map(len, samples))
        time.sleep(compute)
    return time.perf_counter() - begin, pixels


theirs = DataLoader(Files(), batch_size=BATCH, shuffle=True, num_workers=DECODERS, collate_fn=list)
arms = {"DataLoader, 2 workers": lambda: theirs,
        **{f"package, 2 threads, {n} ahead": ours(n) for n in (0, 1, 2)}}
first = "package, 2 threads, 0 ahead"
seconds(arms[first], 0)  # its files are compared with the catalog once
compute = seconds(arms[first], 0)[0] * BATCH / len(paths)
for arm in arms.values():
    seconds(arm, 0)
rounds = [{name: seconds(arm, compute) for name, arm in arms.items()} for _ in range(int(sys.argv[2]))]
print(f"   {len(paths)} files, {compute * 1e3:.0f} ms of an accelerator a batch; the same pixels in all: "
      f"{'yes' if len({p for found in rounds for _, p in found.values()}) == 1 else 'NO'}")
for name in arms:
    ratios = [found[first][0] / found[name][0] for found in rounds]
    print(f"   {name:28} {statistics.median(len(paths) / found[name][0] for found in rounds):6,.0f} samples/s, {statistics.median(ratios):.2f} of none "
          f"ahead ({min(ratios):.2f} to {max(ratios):.2f})")
PY
