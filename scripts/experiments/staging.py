"""What memory a copy reads from: worth nothing behind a long computation, much in front of a short one."""
import curves
import ladder
import load as data
import style

TITLE = "Staging of copies, bound by computing and bound by copying"
REPORTED = ("Copies from pageable memory reach about half the rate of pinned ones and block the thread that asks for them; whether training "
            "becomes slower depends on whether a step is long enough to hide them, which is rarely said.")
EXPOSED = ("(SELECT exposed_ns * 1.0 / epoch_ns FROM account_lane a WHERE a.run_id = good_run.run_id AND a.lane = 'copy')")
LONG_NS = 2_000_000  # a computation that any copy hides behind


def bound(cell):
    return "bound by computing" if curves.number(cell, "compute") >= LONG_NS else "bound by copying"


def load(db, cells):
    """{bound: {staging: ([epoch over that of pinned in the same round], [exposed share of each repeat])}}"""
    times, exposed = curves.by_round(db, cells, "epoch_ns"), curves.by_round(db, cells, EXPOSED)
    found = {}
    for cell in cells:
        pinned = next((times.get(c.cell_id, {}) for c in cells if c.settings["compute"] == cell.settings["compute"]
                       and c.settings["staging"] == "pinned"), {})
        if longer := curves.ratios(times.get(cell.cell_id, {}), pinned):
            found.setdefault(bound(cell), {})[cell.settings["staging"]] = (longer, list(exposed.get(cell.cell_id, {}).values()))
    if not found:
        raise data.NothingToDraw("no complete run to compare with")
    return found


def draw(loaded, cells, facts):
    del cells, facts
    rows = list(dict.fromkeys(staging for of in loaded.values() for staging in of))
    fig, axes = ladder.figure(rows, len(loaded), row_inches=0.24)
    for at, (ax, (kind, of)) in enumerate(zip(axes, loaded.items())):
        for staging, (longer, _) in of.items():
            ladder.row(ax, rows.index(staging), longer, index=at + 1, marker="os"[at])
        ax.axvline(1, color=style.GREY, linewidth=0.6, zorder=0)
        ax.set_xlim(0, 1.1 * max(v for longer, _ in of.values() for v in longer))
        ax.set_title(kind, loc="left", pad=3)
    fig.supxlabel("epoch over that of pinned memory (ratio)", fontsize=7.5)
    return fig


def describe(loaded, cells):
    times = " and ".join(f"{ns / 1e6:g} ms" for ns in sorted({curves.number(c, "compute") for c in cells}, reverse=True))
    groups = [longer for of in loaded.values() for longer, _ in of.values()]
    return (f"Time of an epoch over that with pinned memory in the same round, by what memory copies of {cells[0].settings['batch']} samples "
            f"read from, computing {times} a batch; median, {curves.spread_text(groups)}.")


def found(loaded, cells):
    del cells

    def seen(exposed):
        return f", {ladder.seen([100 * e for e in exposed])} % of it exposed copying" if exposed else ""
    return ". ".join(f"{kind}: " + "; ".join(f"{staging} {ladder.seen(longer, digits='.3g')}{seen(exposed)}"
                                             for staging, (longer, exposed) in of.items()) for kind, of in loaded.items()) + "."
