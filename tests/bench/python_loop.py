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
RESERVOIR = {"shuffle": "reservoir", "window": "10%"}
OURS = {"LBA + device": {"order": "lba", "merge": "device"},
        "LBA + device + reservoir 10 %": {"order": "lba", "merge": "device", **RESERVOIR},
        "chunked + device": {"order": "chunked", "merge": "device"},
        "chunked + device + reservoir 10 %": {"order": "chunked", "merge": "device", **RESERVOIR},
        "random, file by file": {"order": "random"}}
EPOCHS = 3  # of a loop that goes on while a window drains
SHUFFLED = (("LBA + device + reservoir 10 %", "LBA + device"), ("chunked + device + reservoir 10 %", "chunked + device"),
            ("chunked + device + reservoir 10 %", "LBA + device"))


class Files(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as f:
            return torch.frombuffer(bytearray(f.read()), dtype=torch.uint8)


def drop_caches():
    subprocess.run([os.environ["BLKSWEEP"], "--quiet", "cache", "drop"], check=True, stdout=subprocess.DEVNULL)


def sum_of(batch):
    """Of its bytes, in two steps: numpy takes twice as long for all at once, and torch still longer."""
    array = batch.numpy() if isinstance(batch, torch.Tensor) else batch
    return int(array.sum(axis=1, dtype="uint32").sum(dtype="uint64"))


def rate(batches, take=sum_of):
    """Samples a second of the loop; what `take` found, ms to the first batch, ns in `take`."""
    drop_caches()
    begin, samples, total, taking, first = time.perf_counter(), 0, 0, 0, None
    for batch in batches():
        first = first or time.perf_counter() - begin
        at = time.perf_counter_ns()
        total += take(batch)
        taking += time.perf_counter_ns() - at
        samples += len(batch)
    return samples / (time.perf_counter() - begin), total, first * 1e3, taking


def rate_of_run(data, options, compute_ns=0):
    """Samples a second of `blksweep run` with the same settings, planning included, as the loop's is.

    With a consumer that takes compute_ns for each batch, as the loop's does.
    """
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    consumer = ["--consumer", "emulated", "--compute", f"{compute_ns / 1e6:.6f}ms"] if compute_ns else []
    done = subprocess.run([os.environ["BLKSWEEP"], "--quiet", "run", "--data", data, "--batch", str(BATCH), *words, *consumer, "--cache", "cold",
                           "--no-probe", "--no-ceiling", "--json"], check=True, capture_output=True, text=True)
    run = json.loads(done.stdout)["runs"][0]
    return run["samples"] / (run["plan_ns"] + run["epoch_ns"]) * 1e9


def against_run(data, options, batches, summed, samples):
    """The loop over `blksweep run`: both without a consumer, and both with one that takes the same time."""
    bare = rate(batches, len)[0] / rate_of_run(data, options)
    samples_per_s, _, _, taking = summed
    return bare, samples_per_s / rate_of_run(data, options, taking // -(-samples // BATCH))


def loader_of(data, options, epochs=1):
    loader = blksweep.Loader(blksweep.Catalog(data), batch_size=BATCH, epochs=epochs, **options)  # as in a process of its own
    sum(1 for _ in loader)  # its files are compared with the catalog once
    return loader


def of_epochs(name):
    return f"{name}, {EPOCHS} epochs"


def with_chosen(options, loader):
    """What the loader chose, told to `blksweep run`, too."""
    return {**options, **{name: str(loader.stats()[name]) for name in ("depth", "prefetch")}}


def print_ratios(name, ratios, of):
    print(f"   {name:46} {statistics.median(ratios):9.2f} of blksweep run, {of} ({min(ratios):.2f} to {max(ratios):.2f})")


def main(data, repeats):
    catalog = blksweep.Catalog(data)
    files = Files([catalog.file_of(i) for i in range(len(catalog))])
    arms = {f"DataLoader, {w} workers": lambda w=w: DataLoader(files, batch_size=BATCH, shuffle=True, num_workers=w) for w in (0, 2, 4, 8)}
    loaders = {name: loader_of(data, options) for name, options in OURS.items()}
    loaders.update({of_epochs(name): loader_of(data, OURS[name], EPOCHS) for pair in SHUFFLED for name in pair})
    for name, loader in loaders.items():
        arms[name] = lambda loader=loader: (batch.stack() for batch in loader)
    rounds, of_run = [], []
    for _ in range(repeats):
        rounds.append({name: rate(batches) for name, batches in arms.items()})
        of_run.append({name: against_run(data, with_chosen(options, loaders[name]), arms[name], rounds[-1][name], len(catalog))
                       for name, options in OURS.items()})
    sums = {found[1] // (EPOCHS if name in map(of_epochs, OURS) else 1) for round_ in rounds for name, found in round_.items()}
    medians = {name: statistics.median(found[name][0] for found in rounds) for name in arms}
    best = max((m, name) for name, m in medians.items() if name not in loaders)[1]
    for name in arms:
        ratios = [found[name][0] / found[best][0] for found in rounds]
        print(f"   {name:46} {medians[name]:9,.0f} samples/s, {statistics.median(ratios):5.1f} x of {best} ({min(ratios):.1f} to {max(ratios):.1f}), "
              f"first batch {statistics.median(found[name][2] for found in rounds):.0f} ms")
    for shuffled, of in (*SHUFFLED, *(map(of_epochs, pair) for pair in SHUFFLED)):
        ratios = [found[shuffled][0] / found[of][0] for found in rounds]
        print(f"   {shuffled:46} {statistics.median(ratios):9.2f} of {of} ({min(ratios):.2f} to {max(ratios):.2f})")
    for name in OURS:
        print_ratios(name, [found[name][0] for found in of_run], "neither with a consumer")
        print_ratios(name, [found[name][1] for found in of_run], "both with one that takes as long")
    print(f"   the same bytes in all: {'yes' if len(sums) == 1 else 'NO'}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
