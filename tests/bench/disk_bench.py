"""Prints what disk_bench.sh measured: one line per bar, medians with their spread."""
import json
import pathlib
import re
import statistics
import sys
import tomllib

OUT = pathlib.Path(sys.argv[1])
median = statistics.median


def load(name):
    with open(OUT / f"{name}.json", encoding="utf-8") as f:
        return json.load(f)


def fio(label):
    return load("fio." + label)["jobs"][0]["read"]


def spread(values, unit=1):
    values = [v / unit for v in values]
    return f"{median(values):,.2f} ({min(values):,.2f} to {max(values):,.2f})"


def base_cost():
    three = range(1, 4)
    print("base, 4 KiB, depth 1:  IOPS", spread([fio(f"base_d1.{i}")["iops"] for i in three]),
          "(bar 20,000)")
    print("base, 4 KiB, depth 32: IOPS", spread([fio(f"base_d32.{i}")["iops"] for i in three]),
          "(bar 100,000)")
    print("base, sequential:      GB/s",
          spread([fio(f"base_seq.{i}")["bw_bytes"] for i in three], 1e9), "(bar 4)")


def pacing():
    sheet = load("sheet")
    simulated = {row["depth"]: row["mean_ns"] for row in sheet["random"]}
    rate = sheet["sequential_begin_bytes_per_s"]
    for prefix, speedup in (("hdd", 1), ("fast", 10)):
        one = fio(prefix + "_d1")["lat_ns"]["mean"] * speedup / sheet["random_mean_ns"]
        deep = fio(prefix + "_d32")["lat_ns"]["mean"] * speedup / simulated[32]
        sequential = median([fio(f"{prefix}_seq.{i}")["bw_bytes"] for i in range(1, 4)])
        sequential /= speedup * rate
        print(f"hdd-7200 x{speedup}: depth 1 / analytic {one:.3f} (bar 0.95 to 1.05), depth 32 / "
              f"simulated {deep:.3f} (0.90 to 1.10), sequential / modelled {sequential:.3f} "
              "(0.97 to 1.03)")


def cells(label):
    found = {}
    for run in load("run." + label)["runs"]:
        cell = run["cell"]
        key = (cell["order"], cell["merge"], str(cell.get("sort-window", "")))
        found.setdefault(key, []).append(run)
    return found


def rate(runs):
    return median([r["samples_per_s"] for r in runs])


def prediction(runs):
    errors = [r["prediction"]["error"] for r in runs if r.get("prediction")]
    return f"{100 * median(errors):+.1f} %" if errors else "none"


def small(size):
    base, = cells(f"small_{size}.random").values()
    print(f"4 KiB files, {size}: random {rate(base):,.0f} files/s, predicted {prediction(base)}")
    for key, runs in cells(f"small_{size}.lba").items():
        print(f"4 KiB files, {size}: {key[0]} + {key[1]}: {rate(runs):,.0f} files/s, "
              f"{rate(runs) / rate(base):.1f} x random (bar 60), predicted {prediction(runs)}")


def zone_rate():
    """The model's sequential bytes per second over the extents of the files: bytes / sum of bytes / rate."""
    with open(pathlib.Path(__file__).parents[2] / "scripts/models/hdd-7200.toml", "rb") as f:
        rates = [float(r.removesuffix("MB/s")) * 1e6 for r in tomllib.load(f)["zone_rates"]]
    extent = re.compile(r"^ *\d+: +\d+\.\. +\d+: +(\d+)\.\. +\d+: +(\d+):", re.MULTILINE)
    extents = [(int(at), int(n)) for at, n in extent.findall((OUT / "large.where").read_text())]
    zone_blocks = 2**33 / 4096 / len(rates)
    return sum(n for _, n in extents) / sum(n / rates[int(at / zone_blocks)] for at, n in extents)


def large():
    (base,), here = cells("large.random").values(), zone_rate()
    print(f"110 KiB files: {here / 1e6:.1f} MB/s sequential where they lie")
    for label in ("large.random", "large.windows", "large.lba"):
        for key, runs in cells(label).items():
            share = median([r["bytes"] / r["epoch_ns"] * 1e9 for r in runs]) / here
            print(f"110 KiB files: {key[0]} + {key[1]}, window {key[2] or '0'}: {rate(runs):,.0f} "
                  f"files/s, {rate(runs) / rate(base):.2f} x random, {share:.3f} of sequential (bar 0.9 "
                  f"for lba + device), predicted {prediction(runs)} (bar 15 %)")


def recovery():
    """The map's seek curve and rotation against the model's own: a + b sqrt(x) + c x (docs/models.md)."""
    found, size = load("map"), 2**33
    single, average, full = 0.6e6, 8.0e6, 15e6  # of hdd-7200.toml, ns
    b = 5 * (average - single) - 5 / 3 * (full - single)
    c = full - single - b
    worst = 0
    for point in found["seek"]:
        x = abs(point["distance_bytes"]) / size
        ratio = point["ns"] / (single + b * x**0.5 + c * x)
        worst = max(worst, abs(ratio - 1))
        print(f"map: seek over {point['distance_bytes'] / 2**20:+9.1f} MiB {point['ns'] / 1e6:6.3f} ms, "
              f"{ratio:.3f} of the model's")
    print(f"map: worst seek {100 * worst:.1f} % off over {len(found['seek'])} distances (bar 10 %), rotation "
          f"{100 * (found['rotation_ns'] / (60e9 / 7200) - 1):+.4f} % (bar 1 %)")


base_cost()
pacing()
recovery()
small("2GiB")
small("8GiB")
large()
