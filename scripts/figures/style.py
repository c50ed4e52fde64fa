"""One look for all figures: sizes for papers, a palette that colour-blind readers can tell apart.

Who draws sets a Look first: what size, which files, with or without a title. Colours: Okabe and Ito, "Color Universal Design", 2008. Fonts are embedded (Type 42) in PDF and stay
text in SVG. Nothing is written but the files that are named; output does not depend on the date.
"""
import dataclasses
import gc
import math
import pathlib

SINGLE, DOUBLE = 3.35, 7.0  # inches: one column, two columns of a paper
TALLEST = 6.4  # inches of a figure of a paper, a caption's lines less than its page
MIB = 1 << 20
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
GREY, INK, FAINT = "#767676", "#1a1a1a", "#d9d9d9"
PALETTE = [INK, BLUE, ORANGE, GREEN, RED, "#CC79A7", "#56B4E9", "#8a6d00"]

SETTINGS = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica", "sans-serif"],
    "font.size": 7.5, "axes.titlesize": 7.5, "axes.labelsize": 7.5, "legend.fontsize": 7,
    "xtick.labelsize": 7, "ytick.labelsize": 7,
    "axes.edgecolor": GREY, "axes.linewidth": 0.6, "axes.labelcolor": INK, "text.color": INK,
    "xtick.color": GREY, "ytick.color": GREY, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6,
    "xtick.major.size": 2.5, "ytick.major.size": 2.5,
    "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": False, "grid.color": FAINT, "grid.linewidth": 0.5, "lines.linewidth": 1.0,
    "legend.frameon": False, "figure.dpi": 100, "savefig.dpi": 300,
    "text.parse_math": False,  # a label of somebody may hold $
    "pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none",
}


@dataclasses.dataclass(frozen=True)
class Look:
    width: float = DOUBLE    # inches
    formats: tuple = (".pdf", ".svg", ".png")
    footer: bool = True      # disk, kernel and runs under the figure
    titled: bool = False
    axis: str = "auto"       # of measured values: "linear", "log", or as the values ask for
    settings: dict = dataclasses.field(default_factory=dict)  # of matplotlib, beside SETTINGS


look = Look()


def use(chosen):
    global look
    look = chosen


def width():
    return look.width


def narrow():
    """A column of a paper: what stands beside the axes elsewhere goes above or below them."""
    return look.width < DOUBLE


def row(inches, count):
    """Height of one of `count` rows; where a caption has to find room below, so low that it does."""
    return inches if look.footer else min(inches, TALLEST / count)


def pyplot():
    """matplotlib without a window, in this style."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    gc.set_threshold(50_000)  # a figure is as many objects, all in use: to look for others more often took an eighth of the time
    plt.rcdefaults()
    plt.rcParams.update(SETTINGS | look.settings)
    return plt


def colour(index):
    return PALETTE[index % len(PALETTE)]


DATELESS = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}


def save(fig, stem):
    """stem with each ending of the look; ids in an SVG are made of its name, so that pages can hold several."""
    import matplotlib
    import pgf
    stem = pathlib.Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    lay_out(fig)
    keep_inside(fig)
    with matplotlib.rc_context({"svg.hashsalt": stem.name}):
        for ending in look.formats:
            if ending == ".pgf":
                pgf.save(fig, stem.with_suffix(ending))
            else:
                save_as(fig, stem, ending)
    matplotlib.pyplot.close(fig)


def save_as(fig, stem, ending):
    """As savefig(), which would draw everything twice, the first time only to lay it out for that kind of file."""
    import matplotlib
    from matplotlib.backend_bases import get_registered_canvas_class
    engine, canvas, dpi = fig.get_layout_engine(), fig.canvas, fig.dpi
    try:
        get_registered_canvas_class(ending[1:])(fig)
        fig.dpi = matplotlib.rcParams["savefig.dpi"]
        lay_out(fig)
    finally:
        fig.set_canvas(canvas)
        fig.dpi = dpi  # vector kinds set their own
    fig.set_layout_engine(None)
    fig.savefig(stem.with_suffix(ending), metadata=DATELESS.get(ending))
    fig.set_layout_engine(engine)


def lay_out(fig):
    if engine := fig.get_layout_engine():
        engine.execute(fig)


def keep_inside(fig):
    """The layout does not look how wide a label under an axis is: one that is wider than its axis and
    would be cut at the figure's edge begins, or ends, with the axis."""
    for ax in fig.axes:
        extent = ax.xaxis.label.get_window_extent()
        if extent.x0 < 0:
            ax.set_xlabel(ax.get_xlabel(), loc="left")
        elif extent.x1 > fig.bbox.width:
            ax.set_xlabel(ax.get_xlabel(), loc="right")


def frame(fig, title, footer):
    """As the look wants it: a title over the figure; under it, small lines with what a reader needs who
    has nothing but the figure."""
    import textwrap
    lines = textwrap.wrap(footer, int(fig.get_figwidth() * 24)) if look.footer else []
    wide, height = fig.get_size_inches()
    below = 0.05 + 0.1 * len(lines) if lines else 0.0
    above = 0.22 if look.titled and title else 0.0
    tall = height + below + above
    fig.set_size_inches(wide, tall)
    share, label = below / tall, 0.0
    if lines and fig._supxlabel is not None:  # the layout puts it at the figure's edge, not the rectangle's
        label = 0.17 / tall
        fig.supxlabel(fig._supxlabel.get_text(), y=share, va="bottom", fontsize=fig._supxlabel.get_fontsize())
    _, bottom, _, part = fig.get_layout_engine().get()["rect"]
    shrunk = height / tall
    fig.get_layout_engine().set(rect=(0, share + label + bottom * shrunk, 1, part * shrunk - label))
    if lines:
        fig.text(0.006, 0.02 / tall, "\n".join(lines), ha="left", va="bottom", fontsize=5.5, color=GREY,
                 linespacing=1.2)
    if above:
        for legend in (found for found in fig.legends if found.get_label() != BELOW):
            legend.set_bbox_to_anchor((0, 1 - above / tall), transform=fig.transFigure)
        fig.text(0.006, 1 - 0.04 / tall, title, ha="left", va="top", fontsize=9)


def grid(count, row_inches=1.45, shared=True):
    """(figure, axes of `count` small multiples): up to four a row, in a column two; scales shared unless
    told otherwise."""
    columns = min(count, 2 if narrow() else 4 if count > 6 or count == 4 else 3)
    lines = math.ceil(count / columns)
    wide = width() if columns > 1 else SINGLE
    fig, axes = pyplot().subplots(lines, columns, squeeze=False, sharex=shared, sharey=shared,
                                  figsize=(wide, row(row_inches, lines) * lines + 0.45),
                                  layout="constrained")
    flat = list(axes.flat)
    for spare in flat[count:]:
        spare.set_visible(False)
    # Where a column ends early, its last panel carries the numbers of the x axis.
    for at in range(max(0, count - columns), count):
        flat[at].tick_params(labelbottom=True)
    return fig, flat[:count]


def from_zero(axes):
    """Shared scales begin at zero. Only after everything is drawn: a set limit no longer grows."""
    axes[0].set_xlim(left=0)
    axes[0].set_ylim(bottom=0)


def title(ax, text, width=24):
    """A panel's title: left, broken between parts of a label where it is too long for its panel."""
    lines, line = [], ""
    for part in text.split(" + "):
        longer = part if not line else line + " + " + part
        if line and len(longer) > width:
            lines.append(line + " +")
            longer = part
        line = longer
    ax.set_title("\n".join(lines + [line]), loc="left", pad=3)


def rate_ticks(ax):
    from matplotlib.ticker import FuncFormatter
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}" if x >= 10 or x == 0 else f"{x:g}"))


def measured(axis, least, greatest, usual="linear", room=1.04):
    """Scale and limits of an axis of measured values, from `least` to `greatest` of them: linear from zero,
    or logarithmic, as the look wants it and else as is usual for the figure."""
    name, ax = axis.axis_name, axis.axes
    wanted = usual if look.axis == "auto" else look.axis
    if wanted == "log" and least > 0:
        ax.set(**{f"{name}scale": "log", f"{name}lim": (least / 1.25, greatest * 1.25)})
        log_ticks(axis)
    else:
        ax.set(**{f"{name}lim": (0, greatest * room)})


def log_ticks(axis):
    """1, 2, 5 of each decade, as plain numbers: one decade alone would leave a single tick."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}" if x >= 10 else f"{x:g}"))


def time_ticks(axis):
    """Decades of a logarithmic axis in µs, as times: 100 ns, 10 µs, 1 ms."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    def words(x, _):
        for unit, scale in (("s", 1e6), ("ms", 1e3), ("µs", 1)):
            if x >= scale * 0.999:
                return f"{x / scale:g} {unit}"
        return f"{x * 1e3:g} ns"
    axis.set_major_locator(LogLocator(numticks=5))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(words))


def size_ticks(axis):
    """Powers of 16 of a logarithmic axis in bytes, as sizes: 64 KiB, 1 MiB, 16 MiB."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    def words(x, _):
        for unit, scale in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
            if x >= scale:
                return f"{x / scale:g} {unit}"
        return f"{x:g} B"
    axis.set_major_locator(LogLocator(base=16, numticks=6))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(words))


BELOW = "below"  # label of a legend that stands under the axes


def legend_beside(fig, ax, handles, heading=None):
    """A legend of many lines, right of the axes; below them in two columns where they fit, else in one."""
    words = {"title": heading, "alignment": "left", "title_fontsize": 7, "borderaxespad": 0, "labelspacing": 0.6,
             "handletextpad": 0.3}
    if not narrow():
        ax.legend(handles=handles, loc="center left", bbox_to_anchor=(1.01, 0.5), **words)
        return
    legend = fig.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 0), ncols=2, columnspacing=1.2, **words)
    if legend.get_window_extent(fig.canvas.get_renderer()).width > fig.bbox.width:
        legend.remove()
        legend = fig.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 0), **words)
    legend.set_label(BELOW)
    needed = legend.get_window_extent(fig.canvas.get_renderer()).height / fig.dpi + 0.1
    wide, height = fig.get_size_inches()
    fig.set_size_inches(wide, height + needed)
    fig.get_layout_engine().set(rect=(0, needed / (height + needed), 1, height / (height + needed)))


def over_epoch(shown, curves, ylabel, drawstyle="default"):
    """A figure with a panel for each (title, {name: (seconds, values) or nothing}) of `shown`, and a line in it for each of
    `curves`, (name, label, colour, line)."""
    fig, axes = grid(len(shown))
    handles = {}
    for ax, (words, panel) in zip(axes, shown):
        for name, label, colour, line in curves:
            if panel[name]:
                handles[name], = ax.plot(*panel[name], color=colour, linestyle=line, drawstyle=drawstyle, linewidth=1.0,
                                         label=label)
        title(ax, words)
        ax.grid(axis="y")
    from_zero(axes)
    fig.supxlabel("time since the start of the epoch (s)", fontsize=7.5)
    fig.supylabel(ylabel, fontsize=7.5)
    legend_above(fig, [handles[name] for name, *_ in curves if name in handles])
    return fig


def legend_above(fig, handles):
    """A legend over the whole figure, from its left edge; in more than one row where it is too wide."""
    for rows in (1, 2, 3):
        # The layout reserves room for a title, not for a legend of a figure: an empty title makes it.
        fig.suptitle("\n".join([" "] * rows), fontsize=8)
        legend = fig.legend(handles=handles, loc="upper left", bbox_to_anchor=(0, 1), ncols=-(-len(handles) // rows),
                            borderaxespad=0.2, handletextpad=0.4, columnspacing=1.4)
        if rows == 3 or legend.get_window_extent(fig.canvas.get_renderer()).width <= fig.bbox.width:
            return
        legend.remove()
