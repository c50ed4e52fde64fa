"""Rows with names and one or more panels beside them: of each row the median, its least and greatest repeat."""
import statistics

import style


def figure(names, panels, row_inches=0.19, widths=None):
    """(figure, axes): a row for each name, the first on top; panels beside each other share them."""
    fig, axes = style.pyplot().subplots(1, panels, sharey=True, squeeze=False, layout="constrained", width_ratios=widths,
                                        figsize=(style.width(), row_inches * len(names) + 0.75))
    first = axes[0][0]
    first.set_yticks(range(len(names)), names)
    first.set_ylim(len(names) - 0.5, -0.5)
    for ax in axes[0]:
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x")
        ax.set_axisbelow(True)
        ax.spines["left"].set_visible(False)
    return fig, list(axes[0])


def row(ax, at, values, index=1, marker="o"):
    """Draws the values of one row; gives its handle."""
    middle = statistics.median(values)
    spread = [[middle - min(values)], [max(values) - middle]]
    return ax.errorbar(middle, at, xerr=spread, color=style.colour(index), marker=marker, markersize=3.6, linestyle="",
                       markerfacecolor="white", markeredgewidth=0.9, elinewidth=0.9, capsize=1.8)


def seen(values, unit="", digits=".2g"):
    return f"{statistics.median(values):{digits}}{unit}"
