"""The LRU miss-ratio curve of a trace: how much page cache would help."""
import load
import style


def points(one):
    return [(cache, share) for cache, share in one.curves["misses"] if cache > 0]


def draw(found):
    shown = [one for one in found if points(one)]
    if not shown:
        raise load.NothingToDraw("no trace reads or writes a block")
    fig, axes = style.grid(len(shown), 1.7, shared=False)
    for ax, one in zip(axes, shown):
        sizes, misses = zip(*points(one))
        error = one.facts["miss_ratio_error"]
        ax.plot(sizes, misses, color=style.INK, linewidth=1, marker=".", markersize=2)
        if error > 0:
            ax.fill_between(sizes, [max(0, m - error) for m in misses], [min(1, m + error) for m in misses],
                            color=style.INK, alpha=0.15, linewidth=0)
        style.title(ax, one.title(), 40)
        ax.set_xscale("log")
        ax.set_ylim(0, 1.03)
        style.size_ticks(ax.xaxis)
        ax.set_xlabel("LRU cache")
        ax.set_ylabel("share of misses")
    return fig


def describe(found):
    sampled = any(one.facts["miss_ratio_error"] > 0 for one in found)
    return ("Share of references to blocks of 4 KiB that an LRU cache of this size misses, reads and writes alike, the cache "
            "empty at first." + (" Shaded: the mean error of a curve from a sample of blocks (SHARDS)." if sampled else ""))
