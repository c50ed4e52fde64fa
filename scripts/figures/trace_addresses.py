"""Where the accesses of a trace go over time, coloured by operation."""
import load
import style

COLOURS = {"read": style.BLUE, "write": style.ORANGE, "discard": style.GREY}


def draw(found):
    from matplotlib.lines import Line2D
    shown = [one for one in found if one.accesses]
    if not shown:
        raise load.NothingToDraw("no trace has an access with an address")
    fig, axes = style.grid(len(shown), 1.9, shared=False)
    seen = set()
    for ax, one in zip(axes, shown):
        top = max(address for _, address, _ in one.accesses)
        unit, name = next((u, n) for u, n in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "bytes"))
                          if top >= 4 * u or u == 1)
        seen |= {op for _, _, op in one.accesses}
        # In the order of time, so that no operation lies over another.
        ax.scatter([ns / 1e9 for ns, _, _ in one.accesses], [address / unit for _, address, _ in one.accesses], s=0.7,
                   c=[COLOURS.get(op, style.RED) for _, _, op in one.accesses], linewidths=0, rasterized=True)
        style.title(ax, one.title(), 40)
        ax.set_xlabel("time (s)")
        ax.set_ylabel(f"address ({name})")
        style.from_zero([ax])
    style.legend_above(fig, [Line2D([], [], marker="o", linestyle="", markersize=3, color=colour, label=op)
                             for op, colour in COLOURS.items() if op in seen])
    return fig


def describe(found):
    files = [one.facts["trace_kind"] == "file" for one in found]
    places = "files" if all(files) else "volumes, or files," if any(files) else "volumes"
    return (f"Address of each access over time, by operation; several {places} stand one behind the other, by name. At most "
            "20,000 accesses a trace, each as likely as any other.")
