#!/usr/bin/env python3
"""Trains in exactly the order that runs delivered (docs/emission.md), once for each of their emission files and nets.

usage: train_in_order.py RESULTS.db EMISSIONS OUT.csv --count N [--test-images N] [--jobs N]

RESULTS.db has the runs; EMISSIONS is the folder of their --emission files (.npy). Images are made, not read: sample number
i of label l is always the same picture, some part its class's pattern, some part clutter and noise, so the order is all that
differs between runs. Net and first weights are the run's seed's. One thread a training: equal inputs give equal digits.
OUT.csv gets a line as soon as a training has ended; what it has is not trained again.
Refused before any training: an epoch that is not all N samples, each once; a run without its emission; one order in batches
of two sizes; an OUT.csv of other batches or another N of images to test with.
exit: 0 done, 1 refused, 2 usage.
"""
import argparse
import contextlib
import csv
import ctypes
import functools
import multiprocessing
import os
import pathlib
import signal
import sqlite3
import sys

import numpy

CLASSES, SIDE, PLANES = 10, 32, 3
PATTERN, CLUTTER, NOISE = 0.6, 1.0, 1.0  # standard deviations, before a picture's contrast
SHIFT = 3  # pixels that a pattern lies off its place, at most
# Of plain SGD; the rate falls so with each epoch. The better of two for a random order, and the same for all others.
RATE, DECAY = {"convolutional": 0.2, "logistic": 0.2}, 0.6
COLUMNS = ("emission_hash", "seed", "net", "steps", "test_images", "accuracy")


class Refused(Exception):
    """One line: what cannot be trained, and the way out."""


# --- the order -------------------------------------------------------------------------------------------
class _Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def order_hash(samples):
    """As emission_hash of the database: XXH3-128 of sample numbers as uint32."""
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_128bits.restype = _Hash
    library.XXH3_128bits.argtypes = (ctypes.c_char_p, ctypes.c_size_t)
    data = numpy.asarray(samples).astype("<u4").tobytes()
    found = library.XXH3_128bits(data, len(data))
    return f"{found.high:016x}{found.low:016x}"


def refuse_gaps(name, order, count):
    """Each epoch has each of `count` samples once."""
    for epoch in range(int(order["epoch"].max(initial=-1)) + 1 or 1):
        seen = order["sample"][order["epoch"] == epoch]
        times = numpy.bincount(seen, minlength=count)
        wrong = numpy.flatnonzero(times != 1)
        if wrong.size:
            first = wrong[0]
            what = f"lacks sample {first}" if times[first] == 0 else f"has sample {first} {times[first]} times"
            raise Refused(f"{name}: epoch {epoch} {what}, {wrong.size:,} of {count:,} are not there once: accuracy would be of less than "
                          "the data; measure that run again")


def read_order(path, count):
    order = numpy.load(path)
    refuse_gaps(path.name, order, count)
    if (order["label"] < 0).any() or (order["label"] >= CLASSES).any():
        raise Refused(f"{path.name}: labels are to be 0 to {CLASSES - 1}: make the data set with {CLASSES} classes")
    return order


def batches(order):
    """Sample numbers of each batch, as it was delivered."""
    return numpy.split(numpy.ascontiguousarray(order["sample"]), numpy.flatnonzero(numpy.diff(order["batch"])) + 1)


def steps_of(order):
    return len(batches(order))


def labels_of(order):
    labels = numpy.empty(order["sample"].max() + 1, numpy.int64)
    labels[order["sample"]] = order["label"]
    return labels


# --- images ----------------------------------------------------------------------------------------------
def smooth(rng, count, grid):
    """Bilinear between the cells of a coarse grid."""
    at = numpy.linspace(0, grid - 1.001, SIDE)
    low, share = at.astype(int), (at % 1).astype(numpy.float32)
    coarse = rng.standard_normal((count, PLANES, grid, grid), dtype=numpy.float32)
    rows = coarse[:, :, low] * (1 - share[:, None]) + coarse[:, :, low + 1] * share[:, None]
    return rows[..., low] * (1 - share) + rows[..., low + 1] * share


def images(labels, seed):
    """A picture of each label."""
    patterns = smooth(numpy.random.Generator(numpy.random.PCG64(7)), CLASSES, 8)
    rng = numpy.random.Generator(numpy.random.PCG64(seed))
    moved = rng.integers(-SHIFT, SHIFT + 1, (len(labels), 2))
    contrast = rng.uniform(0.5, 1.5, len(labels)).astype(numpy.float32)
    made = CLUTTER * smooth(rng, len(labels), 6) + NOISE * rng.standard_normal((len(labels), PLANES, SIDE, SIDE), dtype=numpy.float32)
    for at, (label, by) in enumerate(zip(labels, moved)):
        made[at] += PATTERN * contrast[at] * numpy.roll(patterns[label], by, (1, 2))
    return made.astype(numpy.float32)


@functools.lru_cache(maxsize=2)  # of a process: runs of one data set share them
def data_of(labels, tested):
    """(images, labels, images to test with, their labels) as tensors; `labels` are bytes, to be remembered by."""
    import torch
    known, asked = numpy.frombuffer(labels, numpy.int64).copy(), numpy.arange(tested) % CLASSES
    return tuple(map(torch.from_numpy, (images(known, 1), known, images(asked, 2), asked)))


# --- training --------------------------------------------------------------------------------------------
def net_of(kind):
    from torch import nn
    if kind == "logistic":
        return nn.Sequential(nn.AvgPool2d(4), nn.Flatten(), nn.Linear(PLANES * (SIDE // 4)**2, CLASSES))
    return nn.Sequential(nn.Conv2d(PLANES, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(),
                         nn.Linear(16 * (SIDE // 8)**2, CLASSES))


def train(kind, order, seed, tested):
    """(accuracy in % of so many images to test with, the net, sample numbers as they were trained)."""
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    pictures, labels, unseen, answers = data_of(labels_of(order).tobytes(), tested)
    net, loss, trained = net_of(kind), torch.nn.CrossEntropyLoss(), []
    optimiser = torch.optim.SGD(net.parameters(), lr=RATE[kind])
    for epoch in range(order["epoch"].max() + 1):
        optimiser.param_groups[0]["lr"] = RATE[kind] * DECAY**epoch
        for batch in batches(order[order["epoch"] == epoch]):
            chosen = torch.from_numpy(batch)
            optimiser.zero_grad(set_to_none=True)
            loss(net(pictures[chosen]), labels[chosen]).backward()
            optimiser.step()
            trained.append(batch)
    with torch.no_grad():
        right = int((net(unseen).argmax(1) == answers).sum())
    return 100 * right / tested, net, numpy.concatenate(trained)


def one(options, task):
    """A line of the result."""
    path, wanted, seed, kind, steps = task
    accuracy, _, trained = train(kind, read_order(path, options.count), seed, options.test_images)
    if order_hash(trained) != wanted:
        raise Refused(f"{path.name}: trained in another order than the run's ({order_hash(trained)}, not {wanted})")
    return wanted, seed, kind, steps, options.test_images, f"{accuracy:.4f}"


# --- all of them -----------------------------------------------------------------------------------------
def emissions(folder, count):
    """{hash of an order: (its file, its steps)}, checked."""
    found = {}
    for path in sorted(folder.glob("*.npy")):
        order = read_order(path, count)
        name, steps = order_hash(order["sample"]), steps_of(order)
        other, others = found.setdefault(name, (path, steps))
        if others != steps:
            raise Refused(f"{path.name} and {other.name}: one order in {steps} and {others} batches: train them from folders of their own")
    return found


def tasks(db, folder, count):
    """Of each complete run its emission; no two alike."""
    with contextlib.closing(sqlite3.connect(f"{pathlib.Path(db).resolve().as_uri()}?mode=ro", uri=True)) as opened:
        runs = opened.execute("SELECT run_id, CAST(seed AS INTEGER), emission_hash FROM good_run ORDER BY run_id").fetchall()
    files = emissions(folder, count)
    for run, _, wanted in runs:
        if wanted not in files:
            raise Refused(f"run {run}: no emission in {folder} has its order ({wanted}): remove {db} and measure again")
    return list(dict.fromkeys((files[wanted][0], wanted, seed, kind, files[wanted][1]) for _, seed, wanted in runs for kind in RATE))


def there(path):
    """What was trained before: {(hash, seed, net): (steps, images to test with)}, as text."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as lines:
        return {(row["emission_hash"], int(row["seed"]), row["net"]): (row.get("steps"), row.get("test_images")) for row in csv.DictReader(lines)}


def left(todo, options):
    """Of the tasks those that are not trained yet."""
    done, new = there(options.out), []
    for task in todo:
        _, *key, steps = task
        was, now = done.get(tuple(key)), (str(steps), str(options.test_images))
        if was is None:
            new.append(task)
        elif was != now:
            raise Refused(f"{options.out}: has a training of this order in {was[0]} steps, tested with {was[1]} images, not {now[0]} and {now[1]}: "
                          "remove it")
    return new


def ready():
    """Of a process that trains: it ends with the one that asked."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


@contextlib.contextmanager
def trainers(jobs):
    """A pool. Python forgets a signal that comes to a process as it is forked: who is ended at once would stay, and be waited for."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    with multiprocessing.Pool(jobs, ready) as pool:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        yield pool


def train_all(todo, options):
    new = not options.out.exists()
    with options.out.open("a", newline="", encoding="utf-8") as lines, trainers(options.jobs) as pool:
        writer = csv.writer(lines, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        for at, row in enumerate(pool.imap(functools.partial(one, options), todo), 1):
            writer.writerow(row)
            lines.flush()
            print(f"train_in_order: [{at}/{len(todo)}] {row[2]}, seed {row[1]}: {float(row[3]):.1f} %", file=sys.stderr)


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("db", type=pathlib.Path)
    parser.add_argument("emissions", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--count", type=int, required=True, help="samples of the data set")
    parser.add_argument("--test-images", type=int, default=3000, metavar="N")
    parser.add_argument("--jobs", type=int, default=min(16, len(os.sched_getaffinity(0))), help="trainings side by side; default: CPUs, 16 at most")
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        train_all(left(tasks(options.db, options.emissions, options.count), options), options)
    except (Refused, OSError, ImportError, sqlite3.Error) as error:
        print(f"train_in_order: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
