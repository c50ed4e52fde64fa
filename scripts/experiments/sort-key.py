"""What sorting by inode and by address gains, by extents per file, on fresh, aged and nearly full filesystems."""
import statistics

import common
import curves
import style

TITLE = "The sort key: inode or address, by fragmentation"
REPORTED = ("gnulib's fts, which find, du and rm use, reads large directories in inode order, because a seek for each inode "
            "costs more; how the gain falls with extents per file is nothing that we know a published figure of.")
KINDS = {"fresh": "fresh", "aged": "aged", "nearly-full": "nearly full"}
MARKERS = {"fresh": "o", "aged": "s", "nearly-full": "^"}
KEYS = {"inode": ("inode", 1, "--"), "lba": ("LBA", 3, "-")}


def load(db, cells):
    """{(filesystem, key): [(extents per file, [gain over random order in the same round])]}."""
    rates = curves.by_round(db, cells, "samples_per_s")
    reads = curves.by_round(db, cells, "1.0 * reads_submitted / samples")
    random = {c.disk: rates.get(c.cell_id, {}) for c in cells if c.settings["order"] == "random"}
    found = {}
    for c in cells:
        kind, key = c.disk.split(",")[0], c.settings["order"]
        if key in KEYS and rates.get(c.cell_id):
            gains = curves.ratios(rates[c.cell_id], random.get(c.disk, {}))
            extents = statistics.median(reads[c.cell_id].values())
            found.setdefault((kind, key), []).append((extents, gains))
    return {of: sorted(points) for of, points in found.items()}


def draw(found, cells, facts):
    del cells, facts
    fig, ax = style.pyplot().subplots(figsize=(style.width(), 2.2), layout="constrained")
    for (kind, key), points in found.items():
        _, at, dash = KEYS[key]
        for extents, gains in points:
            middle = statistics.median(gains)
            ax.errorbar(extents, middle, yerr=[[middle - min(gains)], [max(gains) - middle]], color=style.colour(at),
                        marker=MARKERS[kind], markersize=4, markeredgewidth=0.9, elinewidth=0.7, capsize=1.5,
                        markerfacecolor="white" if key == "inode" else style.colour(at))
        ax.plot([e for e, _ in points], [statistics.median(g) for _, g in points], linestyle=dash, color=style.colour(at),
                linewidth=0.9)
    ax.axhline(1, color=style.GREY, linewidth=0.6, zorder=0)
    ax.set_xlim(left=0.5)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("extents per file (mean)")
    ax.set_ylabel("gain over random order (ratio)")
    ax.grid(axis="y")
    style.legend_above(fig, handles(found))
    return fig


def handles(found):
    from matplotlib.lines import Line2D
    keys = [Line2D([], [], color=style.colour(at), linestyle=dash, label=f"by {word}") for word, at, dash in KEYS.values()]
    kinds = [Line2D([], [], color=style.GREY, marker=MARKERS[kind], markersize=4, linestyle="", markerfacecolor="white",
                    label=word) for kind, word in KINDS.items() if any(k == kind for k, _ in found)]
    return keys + kinds


def describe(found, cells):
    del cells
    groups = [gains for points in found.values() for _, gains in points]
    return ("Samples per second in the order of inodes and of addresses over those of random order in the same round, cold, by "
            f"the extents that the files have (filled: by LBA); median, {curves.spread_text(groups)}.")


def found(loaded, cells):
    del cells
    said = []
    for kind, word in KINDS.items():
        points = [(loaded[kind, "inode"][at], loaded[kind, "lba"][at]) for at in (0, -1) if (kind, "lba") in loaded]
        for (extents, inode), (_, lba) in dict.fromkeys(map(tuple_of, points)):
            said.append(f"{word} with {extents:.1f} extents a file {inode:.2g} by inode and {lba:.2g} by LBA")
    return f"gain {'; '.join(said)}." if said else "nothing to compare."


def tuple_of(pair):
    return tuple((round(extents, 3), statistics.median(gains)) for extents, gains in pair)
