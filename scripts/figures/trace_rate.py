"""Requests per second of a trace over time."""
import load
import style


def draw_steps(found, kind, ylabel, none):
    """A panel a trace with its curve of this kind."""
    shown = [one for one in found if one.curves[kind]]
    if not shown:
        raise load.NothingToDraw(none)
    fig, axes = style.grid(len(shown), 1.7, shared=False)
    for ax, one in zip(axes, shown):
        begins, values = ([x / 1e9 for x, _ in one.curves[kind]], [y for _, y in one.curves[kind]])
        end = 2 * begins[-1] - begins[-2] if len(begins) > 1 else one.facts["duration_ns"] / 1e9
        ax.plot([*begins, end], [*values, values[-1]], color=style.INK, linewidth=0.8, drawstyle="steps-post")
        style.title(ax, one.title(), 40)
        ax.set_xlabel("time (s)")
        ax.set_ylabel(ylabel)
        style.from_zero([ax])
    return fig


def draw(found):
    return draw_steps(found, "rate", "requests/s", "no trace has a request")


def describe(found):
    variations = [f"{one.title()}: {one.facts['gap_variation']:.2f}" for one in found
                  if one.facts["gap_variation"] is not None]
    return ("Requests per second in at most 1,024 equal steps of each trace. Standard deviation of the times between "
            "requests over their mean (1: Poisson arrivals): " + ("; ".join(variations) or "not known") + ".")
