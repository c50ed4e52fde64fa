"""What each cache is worth to the second epoch: kept, dropped, pinned, or squeezed by a memory limit."""
import common
import curves
import ladder
import load as data
import style

TITLE = "Caches: what each is worth on the second epoch"
REPORTED = ("Mohan et al. (Analyzing and Mitigating Data Stalls in DNN Training, VLDB 2021): where memory holds a part of the data the "
            "page cache gives fewer hits than its share, because random epochs evict what comes next; a cache that evicts nothing "
            "gives its share. Pinned pages are such a cache, a memory limit is the other.")
CACHES = {"cold": "dropped all (3)", "drop-1": "dropped pages (1)", "drop-2": "dropped inodes (2)", "warm": "kept all"}


def name(cell):
    s = cell.settings
    if s["memory-limit"] != "none":
        return f"kept, in {s['memory-limit'].replace('MiB', ' MiB')}"
    if s["pin-pages"] != "0%":
        return f"(3), {s['pin-pages'].replace('%', ' %')} of pages pinned"
    return "(3), inodes pinned" if s["pin-inodes"] == "true" else CACHES[s["cache"]]


def load(db, cells):
    """{name: (gain over all dropped in the same round, resident share before, read from the device of what was delivered)}"""
    rates = curves.by_round(db, cells, "samples_per_s")
    resident = curves.by_round(db, cells, "resident_before")
    device = curves.by_round(db, cells, "1.0 * own_read_bytes / bytes")
    base = next((rates[c.cell_id] for c in cells if name(c) == CACHES["cold"] and c.cell_id in rates), None)
    if not base:
        raise data.NothingToDraw("no complete cold run to compare with")
    found = {name(c): (curves.ratios(rates[c.cell_id], base), list(resident.get(c.cell_id, {}).values()),
                       list(device.get(c.cell_id, {}).values()))
             for c in cells if c.cell_id in rates and curves.ratios(rates[c.cell_id], base)}
    order = [*CACHES.values()]
    return dict(sorted(found.items(), key=lambda item: (order.index(item[0]) if item[0] in order else 99)))


def draw(rows, cells, facts):
    del cells, facts
    fig, (gain, read) = ladder.figure(list(rows), 2)
    for at, (gains, _, device) in enumerate(rows.values()):
        ladder.row(gain, at, gains)
        if device:
            ladder.row(read, at, [100 * share for share in device], index=4, marker="s")
    gain.set_xscale("log")
    style.log_ticks(gain.xaxis)
    gain.axvline(1, color=style.GREY, linewidth=0.6, zorder=0)
    read.set_xlim(left=0)
    gain.set_xlabel("gain (ratio)")
    read.set_xlabel("read from device (%)")
    return fig


def describe(rows, cells):
    del cells
    return ("Buffered reads in random order, in the state that an epoch over everything and then a drop leave: samples per second over "
            "those after dropping all in the same round, and bytes read from devices, metadata and read-ahead included, of those "
            f"delivered; median, {curves.spread_text([r[0] for r in rows.values()])}.")


def found(rows, cells):
    del cells
    return "; ".join(f"{label} {ladder.seen(gains)}" + (f" ({ladder.seen([100 * r for r in resident], ' % resident', '.0f')})"
                                                         if resident else "")
                     for label, (gains, resident, _) in rows.items()) + "."
