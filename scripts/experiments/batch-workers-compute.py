"""Waiting per batch, time to the first batch and throughput, by batch size, workers and compute."""
import statistics

import batch_period
import common
import curves
import load as data
import style

TITLE = "Batch size, workers and compute"
REPORTED = ("Workers that take whole batches make the training loop wait at every n-th batch, n being their number; a larger batch "
            "delays the first one and, with a long computation, can lose what it gains elsewhere.")
MARGIN = 0.05  # of throughput: what is nearer is told apart by chance, or by Python
# What the two policies have to differ by follows from the spec alone: the remote disk's read and rate (docs/models.md), the
# computation, and that a worker reads its batch alone, two batches ahead, where the planned reader shares all reads.
READ_S, READS_PER_S, COMPUTE_S = 1 / 1020, 3000, 0.5e-3  # one read, reads of all, computation of a sample
DEPTH, AHEAD = 32, 2  # reads in flight of the planned reader; batches that a worker may be ahead
SHOWN = 40  # batches over whose numbers the waits are drawn

QUERY = "SELECT run_id, cell_id, repeat, begin_ns FROM good_run ORDER BY cell_id, repeat"


def workers_of(cell):
    """0: the planned reader."""
    return int(cell.settings["reader"].partition(":")[2] or 0) if reader(cell) == "workers" else \
        int(cell.settings["peer-workers"]) if reader(cell) == "DataLoader" else 0


def reader(cell):
    return "DataLoader" if cell.settings["peer"] == "torch" else cell.settings["reader"].partition(":")[0]


def computes(cell):
    return cell.settings["consumer"] != "none"


def key(cell):
    return reader(cell), workers_of(cell), int(cell.settings["batch"]), computes(cell)


def waits_of_runs(db, keys):
    """{key: [[ms waited for each batch] of each repeat]}."""
    found = {}
    for run, cell, _, begin in data.rows(db, QUERY):
        if cell in keys:
            waits = batch_period.waits(data.rows(db, batch_period.BATCHES_QUERY, [run]), begin)
            found.setdefault(keys[cell], []).append([ns / 1e6 for ns in waits])
    return found


def load(db, cells):
    keys = {c.cell_id: key(c) for c in cells}

    def by_key(expression):
        return {keys[cell]: of for cell, of in curves.by_round(db, cells, expression).items()}
    samples = max(max(of.values()) for of in by_key("samples").values())
    return {"samples": int(samples), "rates": by_key("samples_per_s"), "first": by_key("first_batch_ns / 1e6"), "waits": waits_of_runs(db, keys)}


def periods(loaded):
    """{(reader, workers): [what batch_period says of each run that has batches enough]}, without compute: where the loop
    does not wait there are no peaks."""
    found = {}
    for (who, workers, _, computing), runs in loaded["waits"].items():
        for said in (batch_period.period(waits, workers) for waits in runs if workers and not computing):
            if said:
                found.setdefault((who, workers), []).append(said)
    return found


def direction(ratios):
    """In every round: 1: faster by more than the margin, -1: slower by more, 0: neither. None: the rounds differ."""
    of = {(r > 1 + MARGIN) - (r < 1 / (1 + MARGIN)) for r in ratios}
    return of.pop() if len(of) == 1 else None


def epoch_by_theory(samples, batch, workers, computing):
    """Seconds until the last batch was used. workers 0: the planned reader."""
    sizes = [min(batch, samples - at) for at in range(0, samples, batch)]
    share = max(READ_S, min(workers, len(sizes)) / READS_PER_S) if workers else max(READ_S / DEPTH, 1 / READS_PER_S)
    lanes, used, free = [0.0] * max(workers, 1), [], 0.0
    for number, size in enumerate(sizes):
        lane, behind = number % len(lanes), number - workers * AHEAD
        lanes[lane] = max(lanes[lane], used[behind] if workers and behind >= 0 else 0.0) + size * share
        free = max(free, lanes[lane]) + size * COMPUTE_S * computing
        used.append(free)
    return free


def must_differ(samples, workers, batch, computing):
    """Whether workers have to be slower than the planned reader by more than the margin."""
    planned, theirs = (epoch_by_theory(samples, batch, n, computing) for n in (0, workers))
    return theirs > (1 + MARGIN) * planned


def orders(loaded):
    """{(workers, batch, computing): (direction of workers:N against the planned reader, of a DataLoader with N)}."""
    found = {}
    for (who, workers, batch, computing), rates in loaded["rates"].items():
        planned = loaded["rates"].get(("planned", 0, batch, computing), {})
        if workers and planned:
            found.setdefault((workers, batch, computing), {})[who] = direction(curves.ratios(rates, planned))
    return {key: (of["workers"], of["DataLoader"]) for key, of in found.items() if len(of) == 2}


def draw_waits(ax, loaded, who, workers):
    batch = min(k[2] for k in loaded["waits"])
    waits = loaded["waits"].get((who, workers, batch, False), [[]])[0][:SHOWN]
    ax.vlines(range(len(waits)), 0, waits, color=style.BLUE, linewidth=1.2)
    ax.set_title(f"{who}, {workers}", loc="left", pad=3)
    ax.set(xlabel="batch number", xlim=(-1, SHOWN), ylim=(0, None))


def draw_lines(ax, values, computing):
    """A line for each reader and number of workers over the batch size; their handles."""
    lines = list(dict.fromkeys(k[:2] for k in sorted(values, key=lambda k: (k[0] != "planned", k[0] != "workers", k))))
    handles = []
    for at, (who, workers) in enumerate(lines):
        points = {k[2]: list(of.values()) for k, of in values.items() if k[:2] == (who, workers) and k[3] == computing}
        label = who + (f", {workers}" if workers else "")
        if points:
            handles.append(curves.line(ax, points, at, label))
    curves.doubling(ax, [k[2] for k in values])
    ax.grid(axis="y")
    return handles


def draw(loaded, cells, facts):
    del cells, facts
    fig, axes = style.pyplot().subplots(3, 2, figsize=(style.width(), 4.4), layout="constrained", sharey="row")
    few = min(k[1] for k in loaded["waits"] if k[1])
    for ax, who in zip(axes[0], ("workers", "DataLoader")):
        draw_waits(ax, loaded, who, few)
    for at, name in enumerate(("no compute", "long compute")):
        handles = draw_lines(axes[1][at], loaded["rates"], bool(at))
        draw_lines(axes[2][at], loaded["first"], bool(at))
        axes[1][at].set_title(name, loc="left", pad=3)
        axes[2][at].set_xlabel("batch (samples)")
    axes[1][0].set_ylim(bottom=0)
    first = [v for of in loaded["first"].values() for v in of.values()]
    style.measured(axes[2][0].yaxis, min(first), max(first), "log")
    for ax, name in zip(axes[:, 0], ("wait for a batch (ms)", "samples/s", "first batch (ms)")):
        ax.set_ylabel(name)
    style.legend_above(fig, handles)
    return fig


def describe(loaded, cells):
    del cells
    groups = [list(of.values()) for of in loaded["rates"].values()]
    smallest = min(k[2] for k in loaded["waits"])
    return (f"Top: time that the training loop waited for each of the first {SHOWN} batches of {smallest}, first repeat (n = 1). "
            "Middle and bottom: samples per second, and time to the first batch, over the batch size, without and with a "
            f"computation of 0.5 ms a sample; median, {curves.spread_text(groups)}. Numbers in the legend: workers.")


def peaks(loaded):
    return "; ".join(
        f"peaks every {workers} batches in {sum(p['periodic'] for p in of)} of {common.plural(len(of), 'run')} of {who}, "
        f"{workers} (autocorrelation at lag {workers}: median {statistics.median(p['autocorrelation'] for p in of):.2f}, noise "
        f"below {max(p['bound'] for p in of):.2f})" for (who, workers), of in sorted(periods(loaded).items(), reverse=True))


def larger_loses(loaded):
    """Of what the largest batch makes slower in every round."""
    least, most = (of(k[2] for k in loaded["rates"]) for of in (min, max))
    said = []
    for (who, workers, batch, computing), rates in loaded["rates"].items():
        ratios = curves.ratios(loaded["rates"].get((who, workers, most, computing), {}), rates) if batch == least else []
        if direction(ratios) == -1:
            said.append(f"{who}{f', {workers}' if workers else ''}, {'long' if computing else 'no'} compute: "
                        f"{statistics.median(ratios):.2f}")
    return f"Batches of {most} against {least} lose more than {MARGIN:.0%} in every round with {'; '.join(said)}. " if said else ""


def found(loaded, cells):
    del cells
    return f"{peaks(loaded)}. {larger_loses(loaded)}{agreement(loaded)}"


def agreement(loaded):
    """Of both policies' places beside the planned reader; a cell whose rounds differ is none that agrees."""
    pairs = orders(loaded)
    told = [of for key, of in pairs.items() if must_differ(loaded["samples"], *key)]
    slower, equal, faster = (sum(of == (way, way) for of in pairs.values()) for way in (-1, 0, 1))
    against = sum((ours or 0) * (theirs or 0) < 0 for ours, theirs in pairs.values())
    return (f"Beside the planned reader workers and DataLoader are both slower by more than {MARGIN:.0%} in every round in {slower} of "
            f"{common.plural(len(pairs), 'combination')} of workers, batch and compute, both within {MARGIN:.0%} of it in {equal}, "
            f"both faster in {faster}: they agree in {slower + equal + faster}, and contradict each other in {against}. By the "
            f"disk's data sheet, the computation and the batches ahead they have to be slower in {len(told)}, and both are in "
            f"{sum(of == (-1, -1) for of in told)} of these.")
