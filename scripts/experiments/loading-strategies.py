"""The steps by which a training loop's input is tuned, one at a time (docs/loading-strategies.md)."""
import pathlib
import statistics
import sys

import common
import style

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "figures"))
import strategies  # noqa: E402

TITLE = "Loading strategies, one step at a time"
REPORTED = ("PyTorch's tuning guide names the same steps (workers, pinned memory, non-blocking copies) without figures; Isenko et al. (Where Is My "
            "Training Bottleneck?, SIGMOD 2022) find that a compressed data set may load faster or slower, by codec and storage.")
QUICK = {"SIZE": "256MiB", "LIMITS": "none,500MB/s", "REPEATS": "3", "CODECS": "zstd lz4 blosc", "WINDOW": "64MiB"}
FULL = {"LIMITS": "none,1000MB/s", "REPEATS": "10"}


def load(db, cells):
    return strategies.load(db, cells)


def draw(found, cells, facts):
    del facts
    cells = [c for c in cells if strategies.step_of(c)]
    limits = sorted({strategies.limit_of(c) for c in cells}, key=strategies.limit_order)
    steps = len({strategies.step_of(c) for c in cells})
    fig, ax = style.pyplot().subplots(figsize=(style.width(), 0.26 * steps + 0.6), layout="constrained")
    strategies.draw_epochs(ax, found["epochs"], cells, limits)
    ax.grid(axis="x")
    ax.set_axisbelow(True)
    return fig


def describe(found, cells):
    return strategies.describe(found | {"utilisation": {}}, cells)


def found(loaded, cells):
    said = []
    for limit in sorted({strategies.limit_of(c) for c in cells if strategies.step_of(c)}, key=strategies.limit_order):
        steps = {strategies.step_of(c): statistics.median(loaded["epochs"][c.cell_id]) for c in cells
                 if strategies.step_of(c) and strategies.limit_of(c) == limit and c.cell_id in loaded["epochs"]}
        first, best = steps[min(steps)], min(steps, key=steps.get)
        said.append(f"{limit}: from {first:.3g} s to {steps[best]:.3g} s with step {best[0]}, {best[1]}")
    return "; ".join(said) + "."
