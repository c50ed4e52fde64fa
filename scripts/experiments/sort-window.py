"""What sorting by address within windows of a shuffled order gains, by reads in flight and by the disk's queue."""
import statistics

import common
import curves
import style

TITLE = "Sorting within windows of a shuffled order"
REPORTED = ("For 10,000 files of ImageNet on a disk, sorting all of them gains a factor of 2.1 with one thread and of 1.4 with "
            "64; windows of 100 gain nothing.")


def share(cell):
    """Of all samples that are sorted together, percent; 0: none."""
    return curves.number(cell, "sort-window") or 0.0


def window(cell, samples):
    return "all" if share(cell) == 100 else f"{share(cell) * samples / 100:g}"


def load(db, cells):
    """{(disk, window): {depth: [gain over no sorting in the same round]}}, windows from the smallest."""
    rates = curves.by_round(db, cells, "samples_per_s")
    samples = max(max(of.values()) for of in curves.by_round(db, cells, "samples").values())
    unsorted = {(c.disk, c.settings["depth"]): rates.get(c.cell_id, {}) for c in cells if not share(c)}
    found = {}
    for c in sorted(cells, key=share):
        if share(c):
            gains = curves.ratios(rates.get(c.cell_id, {}), unsorted.get((c.disk, c.settings["depth"]), {}))
            found.setdefault((c.disk, window(c, samples)), {})[int(c.settings["depth"])] = gains
    return {"gains": found, "samples": samples}


def draw(found, cells, facts):
    del cells, facts
    disks = list(dict.fromkeys(disk for disk, _ in found["gains"]))
    windows = list(dict.fromkeys(name for _, name in found["gains"]))
    fig, axes = style.grid(len(disks), row_inches=1.7)
    for ax, disk in zip(axes, disks):
        handles = [curves.line(ax, found["gains"][disk, name], at, name) for at, name in enumerate(windows, 1)]
        ax.axhline(1, color=style.GREY, linewidth=0.6, zorder=0)
        curves.doubling(ax, [depth for points in found["gains"].values() for depth in points])
        style.title(ax, "device " + disk.split(",")[0].replace("-", " "))
        ax.grid(axis="y")
    axes[0].set_ylim(bottom=0)
    fig.supxlabel("threads (reads in flight)", fontsize=7.5)
    fig.supylabel("gain over no sorting (ratio)", fontsize=7.5)
    style.legend_above(fig, [named(h, name) for h, name in zip(handles, windows)])
    return fig


def named(handle, name):
    handle.set_label("all sorted" if name == "all" else f"windows of {name}")
    return handle


def describe(found, cells):
    del cells
    groups = [gains for points in found["gains"].values() for gains in points.values()]
    return (f"{found['samples']:,} samples in random order, sorted by LBA within windows of so many: samples per second over "
            f"those without sorting in the same round; median, {curves.spread_text(groups)}.")


def found(loaded, cells):
    del cells
    said = []
    for (disk, name), points in loaded["gains"].items():
        ends = [f"{statistics.median(points[depth]):.2g} with {common.plural(depth, 'thread')}"
                for depth in (min(points), max(points)) if points[depth]]
        said.append(f"{disk.split(',')[0].replace('-', ' ')}, {'all' if name == 'all' else 'windows of ' + name}: "
                    f"{' and '.join(ends)}")
    return "gain " + "; ".join(said) + "."
