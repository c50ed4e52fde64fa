"""Requests per second that a trace asks for, and that its replay issued, in windows of 100 ms."""
import load
import style

WINDOW = 0.1  # s
LINES = [("due", style.ORANGE, 1.8, "the trace asks"), ("issued", style.INK, 0.8, "issued")]


def series(points):
    return [x / 1e9 for x, _ in points], [y / WINDOW for _, y in points]


def draw(found):
    shown = [one for one in found if any(y for _, y in one.curves["due"])]
    if not shown:
        raise load.NothingToDraw("no replay had times to keep")
    fig, axes = style.grid(len(shown), 1.7, shared=False)
    handles = []
    for ax, one in zip(axes, shown):
        handles = [ax.plot(*series(one.curves[kind]), color=colour, linewidth=width, drawstyle="steps-post", label=name)[0]
                   for kind, colour, width, name in LINES]
        style.title(ax, one.title(), 40)
        ax.set_ylabel("requests/s")
        ax.set_xlabel("time (s)")
    style.legend_above(fig, handles)
    for ax in axes:
        style.from_zero([ax])
    return fig


def describe(found):
    del found
    return "Requests per second in windows of 100 ms: what the trace asks for, and what was issued."
