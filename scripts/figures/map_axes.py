"""Axes of a latency map: two logarithmic halves, backward left and forward right, one scale of time."""
import style


def size_text(value, _=None):
    for power, name in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if value >= 1 << power:
            return f"{value / (1 << power):g} {name}"
    return f"{value:g} B"


def halves(count, row_inches=2.5):
    """(figure, [(backward axes, forward axes)] of `count` maps, one map a row)."""
    fig, axes = style.pyplot().subplots(
        count, 2, squeeze=False, sharey="row", figsize=(style.DOUBLE, row_inches * count + 0.5),
        layout="constrained")
    fig.get_layout_engine().set(wspace=0.01, w_pad=0.01)
    return fig, [tuple(row) for row in axes]


def finish(pair, one, name):
    """Scales, ticks and titles of one map's two halves."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
    backward, forward = pair
    lengths = sorted({abs(d) for d in one.latencies})
    margin = (lengths[-1] / lengths[0]) ** (0.5 / max(1, len(lengths) / 2))
    ticks = [1 << p for p in range(10, 50, 3) if 1.5 * lengths[0] <= 1 << p <= lengths[-1] * margin]
    for ax in pair:
        ax.set_xscale("log")
        ax.set_xlim(lengths[0] / margin, lengths[-1] * margin)
        ax.xaxis.set_major_locator(FixedLocator(ticks))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(size_text))
    backward.invert_xaxis()
    backward.set_ylabel(f"read latency ({name})")
    backward.set_xlabel("LBA distance backward")
    forward.set_xlabel("LBA distance forward")
    forward.tick_params(axis="y", length=0)
    forward.spines["left"].set_color(style.FAINT)
    backward.set_title(f"{one.title()}, n={one.reads:,}", loc="left", pad=3)


def seek_lines(ax, one, direction, scale):
    """The least latency after a seek, and one revolution more; nothing without a rotation."""
    points = one.seeks[direction]
    facts = one.facts
    if not points or facts["rotation_ns"] is None or facts["path_ns"] is None:
        return
    xs = [x for x, _ in points]
    least = [(y + facts["path_ns"]) / scale for _, y in points]
    ax.plot(xs, least, color=style.RED, linewidth=1.2, zorder=4)
    ax.plot(xs, [y + facts["rotation_ns"] / scale for y in least], color=style.RED, linewidth=1.0,
            linestyle=(0, (4, 2)), zorder=4)


def seek_handles():
    from matplotlib.lines import Line2D
    return [Line2D([], [], color=style.RED, linewidth=1.2, label="fitted seek + path"),
            Line2D([], [], color=style.RED, linewidth=1.0, linestyle=(0, (4, 2)),
                   label="and one revolution")]


def has_seeks(maps):
    return any(one.seeks["forward"] and one.facts["rotation_ns"] is not None for one in maps)
