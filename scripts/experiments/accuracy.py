"""Final accuracy of nets trained in the order that each run delivered: against throughput and against shuffle quality."""
import csv
import pathlib
import statistics
import sys

import common
import load as data
import numpy
import style

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "figures"))
import quality  # noqa: E402

TITLE = "What an order costs in accuracy, and whether shuffle quality says so"
REPORTED = ("CorgiPile (Xu et al., SIGMOD 2022; The VLDB Journal 2024): data that lie clustered by label are the worst case for SGD; earlier ways of "
            "shuffling less than all lose rate of I/O or convergence, blocks in random order that a buffer mixes converge about as a full shuffle. "
            "Nguyen et al. (Why Globally Re-shuffle?, IPDPS 2022): exchanging a part of the samples between workers can keep the accuracy of a "
            "global shuffle. TensorFlow's documentation of tf.data: mixing perfectly needs a buffer as large as the data.")
FULL = {"COUNT": "20000", "EPOCHS": "10", "REPEATS": "10", "CHUNK": "1MiB", "DISK": "8GiB", "SPEEDUP": "1"}
NETS = {"convolutional": "convolutional net", "logistic": "logistic regression"}
MARKERS = quality.MARKERS + "p"
LEAST = "least of them"
WELL_MIXED = 0.9
QUERY = ("SELECT cell_id, CAST(seed AS INTEGER), emission_hash, samples * 1e9 / p.epoch_ns, 1.0 * p.epoch_ns / r.epoch_ns, "
         f"{', '.join(quality.MEASURES)} FROM good_run r JOIN prediction p USING (run_id) ORDER BY cell_id, repeat")
# Student's t, two sides, 95 %, by degrees of freedom.
T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


def words(cell):
    """(policy, window) of a cell."""
    s = cell.settings
    if cell.disk.endswith("mixed"):
        return "classes mixed on disk, LBA order", "-"
    if s["shuffle"] == "none":
        return {"random": "random order", "chunked": "chunks", "lba": "LBA order"}[s["order"]], "-"
    if s["shuffle"] == "full":
        return "LBA order, full", s["window"]
    if s["order"] == "elevator":
        return "LBA-aware reservoir", s["window"]
    how = "buffer, refilled whole" if s["drain"] not in ("0", "-") else s["shuffle"]
    return {"chunked": "chunks", "lba": "LBA order"}[s["order"]] + ", " + how, s["window"]


def accuracies(db):
    """{(emission hash, seed): {net: %}}."""
    found = {}
    try:
        with pathlib.Path(db).with_suffix(".accuracy.csv").open(newline="", encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                found.setdefault((row["emission_hash"], int(row["seed"])), {})[row["net"]] = float(row["accuracy"])
    except OSError as error:
        raise data.NothingToDraw(f"nothing was trained: {data.said(error)}") from error
    return found


def arm_of(cell):
    policy, window = words(cell)
    return {"policy": policy, "window": window, "speed": [], "measured": [], **{net: {} for net in NETS}}


def load(db, cells):
    """[{"policy", "window", "speed": [predicted samples/s], "measured": [over that], net: {seed: %}, measure: mean}] of each cell;
    quality is of the first epoch."""
    trained, arms = accuracies(db), {c.cell_id: arm_of(c) for c in cells}
    scores = {}
    for cell, seed, emission, speed, measured, *measures in data.rows(db, QUERY):
        if cell not in arms or (emission, seed) not in trained:
            continue
        arms[cell]["speed"].append(speed)
        arms[cell]["measured"].append(measured)
        scores.setdefault(cell, []).append((*measures, min(measures)))
        for net in NETS:
            arms[cell][net][seed] = trained[emission, seed][net]
    for cell, rows in scores.items():
        arms[cell] |= dict(zip((*quality.MEASURES.values(), LEAST), map(statistics.mean, zip(*rows))))
    if not scores:
        raise data.NothingToDraw("no run has an accuracy")
    order = list(dict.fromkeys(words(c)[0] for c in cells))
    return sorted((a for cell, a in arms.items() if cell in scores), key=lambda a: (order.index(a["policy"]), share(a["window"])))


def share(window):
    """Percent of the data; 0 where there is no window, or one that holds all."""
    return 0.0 if window in ("-", "100%") else float(window.rstrip("%"))


def name_of(arm):
    return arm["policy"] + (f" {share(arm['window']):g} %" if share(arm["window"]) else "")


def interval(values):
    """(mean, half of its 95 % interval by Student's t); no half of fewer than two."""
    if len(values) < 2:
        return statistics.mean(values), None
    return statistics.mean(values), T95[min(len(values) - 1, max(T95))] * statistics.stdev(values) / len(values)**0.5


def lost(arm, base, net):
    """Points that it loses against `base`, of each seed that both have."""
    return [base[net][seed] - value for seed, value in arm[net].items() if seed in base[net]]


def ranks(values):
    """From 1 on; equal ones share the mean of theirs."""
    ordered = sorted(values)
    return [ordered.index(v) + (ordered.count(v) + 1) / 2 for v in values]


def rank_correlation(xs, ys):
    """Spearman's; None where one of them is all the same."""
    if len(set(xs)) < 2 or len(set(ys)) < 2:
        return None
    return float(numpy.corrcoef(ranks(xs), ranks(ys))[0, 1])


def correlations(arms, net, measure):
    """(of all arms, least and greatest of all without one of them)."""
    def of(chosen):
        return rank_correlation([a[measure] for a in chosen], [statistics.mean(a[net].values()) for a in chosen])
    without = [r for left in arms if (r := of([a for a in arms if a is not left])) is not None]
    return of(arms), min(without, default=None), max(without, default=None)


# --- the figure ------------------------------------------------------------------------------------------
def size(window):
    """Of a marker: larger for a larger window."""
    return 4.2 if not share(window) else 2.6 + 0.33 * share(window)**0.5


def look(arms, arm):
    at = list(dict.fromkeys(a["policy"] for a in arms)).index(arm["policy"])
    return {"color": style.colour(at), "marker": MARKERS[at % len(MARKERS)], "linestyle": "", "markeredgewidth": 0.9,
            "markerfacecolor": "white" if at % 2 else style.colour(at)}


def draw(arms, cells, facts):
    del cells, facts
    fig, axes = style.pyplot().subplots(2, 2, sharey="row", sharex="col", figsize=(style.width(), 3.3), layout="constrained")
    for (left, right), (net, title) in zip(axes, NETS.items()):
        for arm in arms:
            mean, half = interval(list(arm[net].values()))
            how = {**look(arms, arm), "markersize": size(arm["window"]), "elinewidth": 0.7, "capsize": 1.5, "yerr": half}
            left.errorbar(statistics.median(arm["speed"]), mean, **how)
            right.errorbar(arm["label mix"], mean, **how)
        left.set_ylim(bottom=max(0, left.get_ylim()[0]))
        left.set_title(title, loc="left", pad=3)
        left.set_ylabel("test accuracy (%)")
        for ax in (left, right):
            ax.grid(axis="y")
            ax.set_axisbelow(True)
    speeds = [s for a in arms for s in a["speed"]]
    style.measured(axes[0][0].xaxis, min(speeds), max(speeds), "log")
    axes[1][0].xaxis.set_major_formatter(lambda x, _: f"{x / 1000:g}")
    axes[1][0].set_xlabel("throughput (1000 samples/s)")
    axes[1][1].set_xlim(-0.06, 1.08)
    axes[1][1].set_xlabel("label mix (1: full)")
    style.legend_beside(fig, axes[0][0], handles(arms))
    return fig


def handles(arms):
    from matplotlib.lines import Line2D
    return [Line2D([], [], label=policy, markersize=4.5, **look(arms, {"policy": policy}))
            for policy in dict.fromkeys(a["policy"] for a in arms)]


# --- words -----------------------------------------------------------------------------------------------
def describe(arms, cells):
    epochs = cells[0].settings["epochs"]
    seeds = common.span([len(a[net]) for a in arms for net in NETS], "seed")
    shares = sorted({share(a["window"]) for a in arms} - {0})
    windows = ", ".join(f"{s:g}" for s in shares)
    return (f"Test accuracy after {epochs} epochs in exactly the order that each run delivered, files class by class on the disk, against the "
            f"throughput that the disk's model predicts (logarithmic) and label mix; from small to large: windows of {windows} % of the data. Mean "
            f"with its 95 % interval over orders and first weights (Student's t, {seeds}).")


def loss_text(arm, base, net):
    mean, half = interval(lost(arm, base, net))
    return f"{mean:.1f}" + ("" if half is None else f" ± {half:.1f}")


def found(arms, cells):
    del cells
    base = next((a for a in arms if a["policy"] == "random order"), None)
    said = []
    for net, title in NETS.items():
        points = ""
        if base:
            losses = "; ".join(f"{name_of(a)} {loss_text(a, base, net)}" for a in arms if a is not base)
            points = (f"{title}: {statistics.mean(base[net].values()):.1f} % in random order, and points lost against it (mean of the pairs of a "
                      f"seed, ± 95 %): {losses}. ")
        numbers = ", ".join(f"{measure} {said_of(correlations(arms, net, measure))}" for measure in (*quality.MEASURES.values(), LEAST))
        mixed = [a for a in arms if a["label mix"] >= WELL_MIXED]
        said.append(f"{points}Rank correlation of accuracy with shuffle quality over {len(arms)} arms [without any one of them]: {numbers}; with "
                    f"label mix among the {len(mixed)} arms that have {WELL_MIXED} of it or more: {said_of(correlations(mixed, net, 'label mix'))}.")
    shares = [statistics.median(a["measured"]) for a in arms]
    return " ".join(said) + f" Measured throughput was {min(shares):.2f} to {max(shares):.2f} of the predicted one (medians of arms)."


def said_of(correlation):
    middle, low, high = correlation
    return "unknown" if middle is None else f"{middle:.2f} [{low:.2f}, {high:.2f}]"
