"""What a reader takes from a drawn figure: values times the unit that their axis names, by the names of the legend."""
import re
import unittest

# Of an axis' words in parentheses, in ns, bytes, or ones.
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
         "MiB/s": 2**20, "LBA, GiB": 2**30, "thousands": 1e3, "%": 0.01, "MiB/s of samples delivered": 2**20,
         "% of the epoch": 0.01, "% of its time": 0.01}


def unit(label):
    """Of "time (s)"; of words without parentheses 1. KeyError: a unit that nobody knows."""
    found = re.search(r"\(([^()]*)\)$", label)
    return UNITS[found[1]] if found else 1


def quantity(text):
    """Of a tick: "400 ns", "64 KiB"."""
    number, _, name = text.partition(" ")
    return float(number.replace(",", "")) * (UNITS[name] if name else 1)


def by_ticks(axis, values):
    """As the ticks of an axis name them; the label tells no unit."""
    return [quantity(axis.get_major_formatter()(value, 0)) for value in values]


def by_label(label, values):
    return [float(value) * unit(label) for value in values]


def xs(ax, line, label=None):
    return by_label(ax.get_xlabel() if label is None else label, line.get_xdata())


def ys(ax, line, label=None):
    return by_label(ax.get_ylabel() if label is None else label, line.get_ydata())


def named(ax):
    """{name: line} of an axes; a name that stands twice would be one that no reader can tell apart."""
    lines = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
    names = [line.get_label() for line in lines]
    assert len(set(names)) == len(names), names
    return dict(zip(names, lines))


def look(line):
    """(colour, kind of line, marker); of marks alone the colour of their edges."""
    from matplotlib.colors import to_hex
    marks = line.get_linestyle() == "None"
    return to_hex(line.get_markeredgecolor() if marks else line.get_color()), line.get_linestyle(), line.get_marker()


def looks(lines):
    return {line.get_label(): look(line) for line in lines}


def legend(fig):
    """As looks(), of the lines in the figure's legends."""
    return {text.get_text(): look(line) for one in fig.legends for text, line in zip(one.get_texts(), one.get_lines(), strict=True)}


class Case(unittest.TestCase):
    def tearDown(self):
        from matplotlib import pyplot
        pyplot.close("all")
