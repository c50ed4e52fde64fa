"""Where the loader's threads run, and what that is worth: one CPU, two, or one for the reader alone."""
import common
import curves
import ladder
import load as data
import style

TITLE = "CPU placement of reader, openers and the stages behind"
REPORTED = "nothing that we know of with certainty: rules such as a CPU for the reader alone are mostly given without figures."
ROLES = ("reader", "openers", "copy", "consumer")


def places(bind):
    """"reader | openers, stages": which threads share a CPU."""
    if bind == "none":
        return "left to the kernel"
    if "=" not in bind:
        return "all on one CPU"
    of = dict(part.split("=") for part in bind.split("/"))
    groups = {}
    for role in ROLES:
        groups.setdefault(of[role], []).append(role)
    return " | ".join(", ".join("stages" if r == "copy" else r for r in roles if r != "consumer") for roles in groups.values())


def work(cell):
    return "copying" if cell.settings["copy"] == "host" else "decoding, 60 µs a sample"


def load(db, cells):
    """{work: {placement: [rate over that of the kernel's own placement in the same round]}}"""
    rates = curves.by_round(db, cells, "samples_per_s")
    found = {}
    for kind in dict.fromkeys(map(work, cells)):
        mine = {places(c.settings["bind"]): rates.get(c.cell_id, {}) for c in cells if work(c) == kind}
        base = mine.get("left to the kernel", {})
        found[kind] = {place: curves.ratios(values, base) for place, values in mine.items() if curves.ratios(values, base)}
    if not any(found.values()):
        raise data.NothingToDraw("no complete run to compare with")
    return found


def draw(found, cells, facts):
    del cells, facts
    rows = list(dict.fromkeys(place for of in found.values() for place in of if place != "left to the kernel"))
    fig, axes = ladder.figure(rows, len(found), row_inches=0.24)
    for at, (ax, (kind, of)) in enumerate(zip(axes, found.items())):
        for place, values in of.items():
            if place in rows:
                ladder.row(ax, rows.index(place), values, index=at + 1, marker="os"[at])
        ax.axvline(1, color=style.GREY, linewidth=0.6, zorder=0)
        ax.set_xlim(left=0)
        ax.set_title(kind.partition(",")[0], loc="left", pad=3)
    fig.supxlabel("samples/s over the kernel's placement (ratio)", fontsize=7.5)
    return fig


def describe(found, cells):
    del cells
    groups = [values for of in found.values() for values in of.values()]
    return ("Samples per second over those of threads that are bound to no CPU, in the same round; a bar in a name parts the CPUs, stages are "
            f"the threads that copy, decode (60 µs of CPU time a sample) and consume; median, {curves.spread_text(groups)}.")


def found(loaded, cells):
    del cells
    return ". ".join(f"{kind}: " + "; ".join(f"{place} {ladder.seen(values)}" for place, values in of.items()
                                           if place != "left to the kernel") for kind, of in loaded.items()) + "."
