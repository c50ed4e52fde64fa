"""How long the queue of batches read ahead lasts when reading is slower than the computation."""
import statistics

import batch_period
import common
import curves
import load as data
import style

TITLE = "How long the queue of batches read ahead lasts"
REPORTED = ("As long as batches are queued an iteration takes the computation's time, then that of reading; PyTorch queues workers x "
            "prefetch_factor batches, 2 of each by default. A longer queue puts that off and does not prevent it.")
QUERY = "SELECT run_id, cell_id, begin_ns FROM good_run ORDER BY cell_id, repeat"
SHOWN = 48  # iterations
EMPTY_MS = 1.0  # a longer wait for a batch is a queue that was empty; shorter ones are threads that wake up


def times_of(batches, begin):
    """([ms of each iteration], number of the first that found the queue empty or None); the first batch, for which
    everything waits, is no iteration."""
    waits = batch_period.waits(batches, begin)
    ends = [consumed for _, consumed in batches]
    empty = next((i for i, ns in enumerate(waits) if i > 0 and ns / 1e6 > EMPTY_MS), None)
    return [(b - a) / 1e6 for a, b in zip(ends, ends[1:])], empty


def load(db, cells):
    """{(workers, batches ahead of each): [times_of each repeat]}."""
    keys = {c.cell_id: (int(c.settings["reader"].partition(":")[2]), int(c.settings["prefetch"])) for c in cells}
    found = {}
    for run, cell, begin in data.rows(db, QUERY):
        if cell in keys:
            found.setdefault(keys[cell], []).append(times_of(data.rows(db, batch_period.BATCHES_QUERY, [run]), begin))
    return found


def smooth(times, over):
    """Mean of the last `over`: workers end together, so that single iterations are long or short."""
    return [statistics.mean(times[max(0, at + 1 - over):at + 1]) for at in range(len(times))]


def draw_times(ax, loaded, workers):
    handles = []
    for at, (key, runs) in enumerate(((k, v) for k, v in loaded.items() if k[0] == workers), 1):
        times = smooth(runs[0][0], workers)[:SHOWN]
        _, dash = curves.LOOKS[at]
        handles += ax.plot(range(1, len(times) + 1), times, color=style.colour(at), linestyle=dash,
                           label=f"queue {key[0] * key[1]}")
    ax.set(xlabel="iteration", ylabel="time (ms)", ylim=(0, None), xlim=(0, SHOWN))
    ax.grid(axis="y")
    ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(handles), handlelength=2.4, columnspacing=1.2,
              borderaxespad=0.2, title=f"{workers} workers", title_fontsize=7, alignment="left")


def draw_empty(ax, loaded):
    handles = []
    for at, workers in enumerate(sorted({k[0] for k in loaded}), 1):
        points = {k[0] * k[1]: [e for _, e in runs if e is not None] for k, runs in loaded.items() if k[0] == workers}
        handles.append(curves.line(ax, points, at, common.plural(workers, "worker")))
    curves.doubling(ax, [k[0] * k[1] for k in loaded])
    ax.set(xlabel="queue (batches: workers × prefetch)", ylabel="first empty at iteration", ylim=(0, None))
    ax.grid(axis="y")
    ax.legend(handles=handles, loc="upper left", borderaxespad=0.2)


def draw(loaded, cells, facts):
    del cells, facts
    fig, axes = style.pyplot().subplots(2, 1, figsize=(style.width(), 3.6), layout="constrained")
    workers = sorted({k[0] for k in loaded})
    draw_times(axes[0], loaded, workers[len(workers) // 2])
    draw_empty(axes[1], loaded)
    return fig


def describe(loaded, cells):
    groups = [runs for runs in loaded.values()]
    return (f"Batches of {cells[0].settings['batch']} samples; the first takes 1 s, so that the queue is full when the second begins, "
            "the others 6 ms, less than reading one takes. Top: time of an iteration, mean of as many as there are workers, "
            "first repeat (n = 1). Bottom: the iteration that first waited for its batch for more than "
            f"{EMPTY_MS:g} ms; median, {curves.spread_text(groups)}.")


def found(loaded, cells):
    del cells
    said = []
    for (workers, ahead), runs in sorted(loaded.items()):
        empties = [e for _, e in runs if e is not None]
        at = f"at iteration {statistics.median(empties):g}" if empties else "never"
        said.append(f"{workers} x {ahead}: {at}")
    return f"the queue of workers x batches ahead first is empty: {', '.join(said)}."
