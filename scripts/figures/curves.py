"""Lines over a setting: the median of the repeats as a line, their least and greatest as whiskers.

Each line has a marker and a dash of its own, so that it can be told from the others in grey.
"""
import math
import statistics

import common
import load as data
import style

LOOKS = [("o", "-"), ("s", "--"), ("^", "-."), ("D", ":"), ("v", (0, (5, 1))), ("P", (0, (3, 1, 1, 1, 1, 1))), ("X", (0, (1, 1)))]


def by_round(db, cells, expression):
    """{cell_id: {(session, repeat): value}} of an expression over the columns of good_run; NULL is left out."""
    wanted = {c.cell_id for c in cells}
    found = {}
    for cell, session, repeat, value in data.rows(
            db, f"SELECT cell_id, session_id, repeat, {expression} FROM good_run ORDER BY cell_id, repeat"):
        if cell in wanted and value is not None:
            found.setdefault(cell, {})[session, repeat] = value
    return found


def ratios(values, base):
    """Of each round that both have."""
    return [v / base[key] for key, v in values.items() if base.get(key)]


def line(ax, points, index, label, shift=0.0):
    """Draws {x: [value of each repeat]}; gives the handle for a legend. `shift` moves whiskers apart, in points."""
    marker, dash = LOOKS[index % len(LOOKS)]
    xs = sorted(x for x, values in points.items() if values)
    middles = [statistics.median(points[x]) for x in xs]
    spread = [[m - min(points[x]) for x, m in zip(xs, middles)], [max(points[x]) - m for x, m in zip(xs, middles)]]
    return ax.errorbar(xs, middles, yerr=spread, color=style.colour(index), marker=marker, linestyle=dash, markersize=3.2,
                       markerfacecolor="white", markeredgewidth=0.9, elinewidth=0.7, capsize=1.5, label=label)


def doubling(ax, values, axis="x"):
    """A logarithmic axis of a setting, with a tick at each of its values."""
    from matplotlib.ticker import FixedLocator, NullLocator
    values = sorted(set(values))
    one = getattr(ax, axis + "axis")
    ax.set(**{axis + "scale": "log", axis + "lim": (values[0] / 1.25, values[-1] * 1.25)})
    one.set_major_locator(FixedLocator(values))
    one.set_minor_locator(NullLocator())
    one.set_major_formatter(lambda x, _: f"{x:g}")


def number(cell, setting):
    """The number that a setting begins with: 64 of "64", 0.5 of "0.5%"; None for a word."""
    text = cell.settings.get(setting, "")
    digits = "".join(c for c in text if c.isdigit() or c == ".")
    return float(digits) if digits else None


def median_interval(values, level=0.95):
    """(low, high): order statistics that hold the true median with at least `level`, whatever the distribution (the sign
    test's interval); None: too few values."""
    ordered, n = sorted(values), len(values)
    outside, below = 0.0, -1  # chance that at most `below` of n values are under the true median
    while outside + math.comb(n, below + 1) / 2**n <= (1 - level) / 2:
        below += 1
        outside += math.comb(n, below) / 2**n
    return (ordered[below], ordered[n - 1 - below]) if below >= 0 else None


def spread_text(groups):
    """What the whiskers are, for a caption: `groups` are the lists of values that were drawn."""
    return f"whiskers: least and greatest ({common.span([len(g) for g in groups], 'repeat')})"
