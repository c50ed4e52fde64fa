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
    same = len({c.runs for c in cells}) == 1
    name_rows(ax, [c.label if style.narrow() and same else f"{c.label}  (n={c.runs})" for c in cells])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")
    ax.set_axisbelow(True)
    return greatest


ABOVE = 0.34  # of a row: how far above its points its name stands in a column


PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}  # what lines behind a text end at


def name_rows(ax, names):
    """Beside the axis; in a column, where there is no room, above each row."""
    ax.set_yticks(range(len(names)), [""] * len(names) if style.narrow() else names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    if style.narrow():
        ax.set_ylim(len(names) - 0.55, -0.7)
        for row, name in enumerate(names):
            ax.annotate(name, (0, row - ABOVE), xycoords=("axes fraction", "data"), xytext=(1, 0),
                        textcoords="offset points", va="center", fontsize=7, bbox=PAPER)


def note_row(ax, row, text):
    """At the end of a row: right of the axes, in a column at the end of its name's line."""
    if style.narrow():
        ax.annotate(text, (1, row - ABOVE), xycoords=("axes fraction", "data"), va="center", ha="right", fontsize=7,
                    bbox=PAPER)
    else:
        ax.annotate(text, (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize=7)


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
    row = 0.36 if style.narrow() else 0.27
    return style.pyplot().subplots(figsize=(style.width(), row * count + 0.95), layout="constrained")
