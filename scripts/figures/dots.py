"""Horizontal dot plots: raw repeats, their median and range, from zero."""
import style


def offsets(count):
    """Vertical places of `count` raw points around their row, so that equal values stay visible."""
    return [0.0] if count == 1 else [0.12 - 0.24 * i / (count - 1) for i in range(count)]


def rows(ax, cells, name, points, scale):
    """One row per cell, the first on top. Returns the greatest value drawn."""
    greatest = 0.0
    for row, cell in enumerate(cells):
        raw = [p / scale for p in points.get(cell.cell_id, [])]
        ax.plot(raw, [row + o for o in offsets(len(raw))] if raw else [], linestyle="", marker="o",
                markersize=3, markerfacecolor="none", markeredgecolor=style.GREY,
                markeredgewidth=0.6, zorder=2)
        if len(raw) > 1:
            ax.plot([min(raw), max(raw)], [row, row], color=style.BLUE, linewidth=2.2, alpha=0.45,
                    solid_capstyle="butt", zorder=3)
        if cell.value(name) is not None:
            ax.plot(cell.value(name) / scale, row, linestyle="", marker="|", markersize=10,
                    markeredgewidth=1.8, color=style.BLUE, zorder=4)
        greatest = max([greatest, *raw])
    ax.set_yticks(range(len(cells)), [f"{c.label}  (n={c.runs})" for c in cells])
    ax.set_ylim(len(cells) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")
    ax.set_axisbelow(True)
    return greatest


def legend_handles(several):
    """`several`: some cell has more than one repeat, and so a range."""
    from matplotlib.lines import Line2D
    handles = [Line2D([], [], linestyle="", marker="o", markersize=3, markerfacecolor="none",
                      markeredgecolor=style.GREY, markeredgewidth=0.6, label="one repeat"),
               Line2D([], [], linestyle="", marker="|", markersize=8, markeredgewidth=1.8,
                      color=style.BLUE, label="median")]
    if several:
        handles.append(Line2D([], [], color=style.BLUE, linewidth=2.2, alpha=0.45,
                              label="least to greatest"))
    return handles


def figure(count):
    """(figure, axes) for `count` rows, with room for a legend above."""
    return style.pyplot().subplots(figsize=(style.DOUBLE, 0.27 * count + 0.95), layout="constrained")
