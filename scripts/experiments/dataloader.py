"""PyTorch's DataLoader and our package in the same loop, with and without decoding, and what the loop waited for."""
import statistics

import common
import curves
import ladder
import load as data
import style

TITLE = "PyTorch's DataLoader and the package, with and without decoding"
REPORTED = ("Mohan et al. (Analyzing and Mitigating Data Stalls in DNN Training, VLDB 2021): in many cases training mostly waits for data to be "
            "fetched and preprocessed, which they part by runs from memory and with all caches cleared. Iglovikov and Kosarevsky (Single-Thread "
            "JPEG Decoder Benchmarks Mis-Evaluate ML Data Loaders, 2026): the order of decoders alone is not their order in a DataLoader.")
QUICK = {}
FULL = {"REPEATS": "10", "SWEEP": "3", "SMALL": "50000", "LARGE": "6000", "HDD_SMALL": "5000", "HDD_LARGE": "2000",
        "WORKERS": "1,2,4,8,16,32", "HDD_WORKERS": "4,16,64", "THREADS": "1,2,4,8,16", "FAST": "3GiB", "HDD": "6GiB", "FAST_ON": "/var/tmp"}
LOADERS = {"torch": ("DataLoader", 2, "o", -0.17), "blksweep": ("package", 1, "s", 0.17)}
COLUMNS = {"rate": "samples_per_s", "wait": "decode_wait"}


def row_of(cell):
    """("fast", "cold", "110 KiB", "jpeg")."""
    disk, size = cell.disk.split(", ")[:2]
    return disk, cell.settings["cache"], size.replace("K", " K"), cell.settings["peer"].rpartition(":")[2]


def check_pixels(db, cells):
    """Both have delivered the same, in every round: else nothing is compared."""
    hashes = curves.by_round(db, cells, "decode_hash")
    rounds = {}
    for c in cells:
        disk, _, size, decode = row_of(c)
        for key, value in hashes.get(c.cell_id, {}).items():
            rounds.setdefault((disk, size, decode, key), set()).add(value)
    if any(len(found) != 1 for found in rounds.values()):
        raise data.NothingToDraw("what the two loaders delivered differs")


def load(db, cells):
    """{row: {loader: {"workers": n, "rate": {round: samples/s}, "wait": {round: share of the epoch}}}}."""
    check_pixels(db, cells)
    values = {name: curves.by_round(db, cells, column) for name, column in COLUMNS.items()}
    found = {}
    for c in cells:
        loader = c.settings["peer"].partition(":")[0]
        found.setdefault(row_of(c), {})[loader] = {
            "workers": int(c.settings["peer-workers"]), **{name: of.get(c.cell_id, {}) for name, of in values.items()}}
    return {row: of for row, of in sorted(found.items(), key=order_of) if len(of) == len(LOADERS)}


def order_of(item):
    disk, cache, size, decode = item[0]
    return disk, cache, len(size), decode != "raw"


def draw(loaded, cells, facts):
    del cells, facts
    fig, axes = ladder.figure([", ".join(row) for row in loaded], 2, row_inches=0.24, widths=(1.25, 1))
    rates, handles = [], {}
    for at, of in enumerate(loaded.values()):
        for loader, (word, colour, marker, shift) in LOADERS.items():
            rates += of[loader]["rate"].values()
            handles[word] = ladder.row(axes[0], at + shift, list(of[loader]["rate"].values()), index=colour, marker=marker)
            ladder.row(axes[1], at + shift, [100 * share for share in of[loader]["wait"].values()], index=colour, marker=marker)
    style.measured(axes[0].xaxis, min(rates), max(rates), "log")
    decades(axes[0].xaxis)
    axes[0].set_xlabel("samples/s")
    axes[1].set(xlim=(-4, 104), xlabel="decoding (%)")
    bound = axes[1].axvline(100 * common.DECODE_BOUND, color=style.GREY, linestyle="--", linewidth=0.9)
    for word, handle in handles.items():
        handle.set_label(word)
    bound.set_label("decode-bound from here")
    style.legend_above(fig, [*handles.values(), bound])
    return fig


def decades(axis):
    """1, 10, 100 of the axis: it spans many."""
    from matplotlib.ticker import LogLocator
    axis.set_major_locator(LogLocator())


def describe(loaded, cells):
    groups = [list(of["rate"].values()) for row in loaded.values() for of in row.values()]
    return (f"The same loop over JPEG files, batches of {cells[0].settings['batch']}, their bytes (raw) and their pixels (jpeg), each loader "
            "with the number of workers that was best in a sweep: samples per second, and decoding, the share of the epoch in which the loop waited "
            f"while decoders were busy; median, {curves.spread_text(groups)}. What was delivered was compared by hash. The fast disk is in memory, on the "
            "rotating one files lie apart as some of a data set that fills it. Warm data are pinned, and the package reads them through the page cache.")


def said(row, of):
    waits = [common.decode_bound_text(statistics.median(of[loader]["wait"].values())) for loader in LOADERS]
    ratios = curves.ratios(of["blksweep"]["rate"], of["torch"]["rate"])
    between = f"{min(ratios):.2g} to {max(ratios):.2g}"
    told = "" if row[-1] == "raw" else f"; DataLoader waits for decoding {waits[0]}, the package {waits[1]}"
    return (f"{', '.join(row)}: package ({of['blksweep']['workers']}) {statistics.median(ratios):.2g} times DataLoader ({of['torch']['workers']}), "
            f"{between}{told}")


def found(loaded, cells):
    del cells
    return "in brackets the workers; raw decodes nothing and is not decode-bound. " + ". ".join(said(row, of) for row, of in loaded.items()) + "."
