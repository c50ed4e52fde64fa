"""python_loop.py DATA REPEATS: the loop of python_bench.sh."""
import json
import os
import statistics
import subprocess
import sys
import time

import blksweep
import torch
from torch.utils.data import DataLoader, Dataset

BATCH = 256
OURS = {"LBA + device": {"order": "lba", "merge": "device"},
        "chunked + device + reservoir 10 %": {"order": "chunked", "merge": "device", "shuffle": "reservoir", "window": "10%"},
        "random, file by file": {"order": "random"}}


class Files(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as f:
            return torch.frombuffer(bytearray(f.read()), dtype=torch.uint8)


def drop_caches():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("3")


def rate(batches):
    """Samples a second of the loop; the sum, and ms to the first batch."""
    drop_caches()
    begin, samples, total, first = time.perf_counter(), 0, 0, None
    for batch in batches():
        first = first or time.perf_counter() - begin
        total += int(batch.sum(dtype=torch.int64)) if isinstance(batch, torch.Tensor) else int(batch.sum(dtype="int64"))
        samples += len(batch)
    return samples / (time.perf_counter() - begin), total, first * 1e3


def rate_of_run(data, options):
    """Samples a second of `blksweep run` with the same settings, by its own clock: what the loop is held against."""
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    done = subprocess.run([os.environ["BLKSWEEP"], "--quiet", "run", "--data", data, "--batch", str(BATCH), *words, "--cache", "cold",
                           "--no-probe", "--no-ceiling", "--json"], check=True, capture_output=True, text=True)
    run = json.loads(done.stdout)["runs"][0]
    return run["samples"] / run["epoch_ns"] * 1e9


def main(data, repeats):
    catalog = blksweep.Catalog(data)
    files = Files([catalog.file_of(i) for i in range(len(catalog))])
    arms = {f"DataLoader, {w} workers": lambda w=w: DataLoader(files, batch_size=BATCH, shuffle=True, num_workers=w) for w in (0, 2, 4, 8)}
    for name, options in OURS.items():
        loader = blksweep.Loader(blksweep.Catalog(data), batch_size=BATCH, **options)  # as in a process of its own
        arms[name] = lambda loader=loader: (batch.stack() for batch in loader)
        sum(1 for _ in loader)  # its files are compared with the catalog once
    rounds, of_run = [], []
    for _ in range(repeats):
        rounds.append({name: rate(batches) for name, batches in arms.items()})
        of_run.append({name: rounds[-1][name][0] / rate_of_run(data, options) for name, options in OURS.items()})
    sums = {total for found in rounds for _, total, _ in found.values()}
    medians = {name: statistics.median(found[name][0] for found in rounds) for name in arms}
    best = max((m, name) for name, m in medians.items() if name not in OURS)[1]
    for name in arms:
        ratios = [found[name][0] / found[best][0] for found in rounds]
        print(f"   {name:36} {medians[name]:9,.0f} samples/s, {statistics.median(ratios):5.1f} x of {best} ({min(ratios):.1f} to {max(ratios):.1f}), "
              f"first batch {statistics.median(found[name][2] for found in rounds):.0f} ms")
    for name in OURS:
        ratios = [found[name] for found in of_run]
        print(f"   {name:36} {statistics.median(ratios):9.2f} of blksweep run ({min(ratios):.2f} to {max(ratios):.2f})")
    print(f"   the same bytes in all: {'yes' if len(sums) == 1 else 'NO'}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
