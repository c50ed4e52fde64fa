"""Prints what disk_bench.sh measured: one line per bar, medians with their spread."""
import json
import pathlib
import statistics
import sys

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
        sequential = fio(prefix + "_seq")["bw_bytes"] / speedup / rate
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


def orders():
    sheet = load("sheet")
    base = rate(next(iter(cells("small_random").values())))
    print(f"4 KiB files: random {base:,.0f} files/s, predicted "
          f"{prediction(next(iter(cells('small_random').values())))}")
    for key, runs in cells("small_lba").items():
        print(f"4 KiB files: {key[0]} + {key[1]}: {rate(runs):,.0f} files/s, {rate(runs) / base:.1f} x "
              f"random (bar 60), predicted {prediction(runs)}")
    base = rate(next(iter(cells("large_random").values())))
    for label in ("large_random", "large_windows", "large_lba"):
        for key, runs in cells(label).items():
            share = median([r["bytes"] / r["epoch_ns"] * 1e9 for r in runs])
            print(f"110 KiB files: {key[0]} + {key[1]}, window {key[2] or '0'}: {rate(runs):,.0f} files/s, "
                  f"{rate(runs) / base:.2f} x random, {share / sheet['sequential_begin_bytes_per_s']:.3f} "
                  f"of sequential (bar 0.9 for lba + device), predicted {prediction(runs)} (bar 15 %)")


for part in (base_cost, pacing, orders):
    part()
print("map:", json.dumps(load("map").get("fit", load("map")), indent=1)[:3000])
