"""How late replays were: shares of requests by lateness, the tool's part of it, and fio's replay."""
import replays
import style

LEAST = 100  # ns: what is less counts as this, on a logarithmic axis
LINES = [("late", "late", style.INK, "-"), ("late_tool", "through the tool", style.BLUE, ":"),
         ("late_fio", "fio's replay, at the driver", style.ORANGE, "--"),
         ("latency", "replayed", style.BLUE, "-"), ("latency_recorded", "recorded", style.INK, "--")]


def draw_shares(found, kinds, xlabel):
    """A panel a replay, with cumulative shares of these kinds."""
    fig, axes = style.grid(len(found), 1.7)
    handles = {}
    for ax, one in zip(axes, found):
        for kind, name, colour, line in LINES:
            if kind in kinds and one.curves[kind]:
                xs, shares = replays.cumulative(one.curves[kind])
                handles[name], = ax.plot([max(x, LEAST) / 1e3 for x in xs], shares, line, color=colour,
                                         drawstyle="steps-post", label=name)
        style.title(ax, one.title(), 40)
        ax.set_xscale("log")
        style.time_ticks(ax.xaxis)
        ax.set_ylim(0, 1.02)
        ax.set_xlabel(xlabel)
        ax.set_ylabel("share of requests")
        ax.label_outer()
    style.legend_above(fig, list(handles.values()))
    return fig


def draw(found):
    return draw_shares(found, ("late", "late_tool", "late_fio"), "late by")


def describe(found):
    beside = any(one.curves["late_fio"] for one in found)
    text = ("Lateness of requests, issued less due; dotted: the tool's part, the rest is the device's, "
            "whose queue was full. What is below 0.1 µs stands at 0.1 µs.")
    return text + (" Dashed: the same reads by fio's replay, timed by the block layer, its least late one on time."
                   if beside else "")
