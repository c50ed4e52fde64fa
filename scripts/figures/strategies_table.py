#!/usr/bin/env python3
"""Prints the steps of scripts/experiments/loading-strategies.sh as a table: what each costs, and why.

usage: scripts/figures/strategies_table.py RESULTS.db
Of each step and limit: the epoch (median of the repeats), the ratio to the step that it changes by one
setting (of each repeat, median and range; no verdict, because steps are sessions of their own), and from the account the accelerator's utilisation, the
copying that nothing hid and what the accelerator mostly waited for, as shares of the epoch.
exit: 0 done, 1 no such steps or the database cannot be read, 2 usage.
"""
import dataclasses
import sqlite3
import statistics
import sys

import load as data
import strategies

RUNS = ("SELECT d.label, s.value, r.run_id, r.repeat, r.epoch_ns, r.utilisation, "
        "100.0 * l.exposed_ns / a.wall_ns FROM good_run r JOIN cell c USING (cell_id) "
        "JOIN disk d USING (experiment_id) JOIN cell_setting s USING (cell_id) "
        "LEFT JOIN account a USING (run_id) "
        "LEFT JOIN account_lane l ON l.run_id = r.run_id AND l.lane = 'copy' "
        "WHERE s.name = 'bandwidth-limit' ORDER BY r.run_id")
STALLS = ("SELECT s.run_id, s.cause, 100.0 * s.ns / a.wall_ns FROM account_stall s "
          "JOIN account a USING (run_id) WHERE s.lane = 'compute'")
COLUMNS = ("step", "epoch (s)", "least..greatest", "against", "ratio", "least..greatest", "busy",
           "exposed copy", "waits mostly for")


@dataclasses.dataclass(frozen=True)
class Run:
    epoch_s: float
    utilisation: float | None  # 0..1
    exposed: float | None  # percent of the epoch
    stalls: dict  # {cause: percent of the epoch} of the accelerator


def load(db):
    """{limit: {(number, name): {repeat: Run}}}, limits and steps in their order."""
    stalls = {}
    for run, cause, share in data.rows(db, STALLS):
        stalls.setdefault(run, {})[cause] = share
    found = {}
    for label, limit, run, repeat, epoch, utilisation, exposed in data.rows(db, RUNS):
        if match := strategies.STEP.match(label):
            step = (int(match[1]), match[2])
            found.setdefault(strategies.limit_word(limit), {}).setdefault(step, {})[repeat] = Run(
                epoch / 1e9, utilisation, exposed, stalls.get(run, {}))
    return {limit: dict(sorted(found[limit].items()))
            for limit in sorted(found, key=strategies.limit_order)}


def base_of(step, steps):
    """The step that this one changes: the one whose name it goes on with, else the one before."""
    before = [s for s in steps if s[0] < step[0]]
    longer = [s for s in before if step[1].startswith(s[1] + " ")]
    return (longer or before or [None])[-1]


def middle(values):
    known = [v for v in values if v is not None]
    return statistics.median(known) if known else None


def main_stall(runs):
    """(cause, percent): the greatest by its median over the runs; None when nothing was waited for."""
    causes = {cause for r in runs for cause in r.stalls}
    medians = {cause: middle([r.stalls.get(cause, 0) for r in runs]) for cause in sorted(causes)}
    cause = max(medians, key=medians.get, default=None)
    return (cause, medians[cause]) if cause and medians[cause] > 0 else None


def span(values, form):
    return f"{min(values):{form}}..{max(values):{form}}"


def percent(value):
    return "-" if value is None else f"{value:.1f} %"


def row(step, base, by_step):
    """The words of one line. The ratio is no verdict: steps are other data in sessions of their own."""
    repeats = by_step[step]
    epochs = [r.epoch_s for r in repeats.values()]
    against = by_step.get(base, {})
    ratios = [r.epoch_s / against[n].epoch_s for n, r in repeats.items() if n in against]
    ratio, spread = ("", "") if not ratios else (f"{statistics.median(ratios):.3f}", span(ratios, ".3f"))
    busy = middle([r.utilisation for r in repeats.values()])
    stall = main_stall(list(repeats.values()))
    return (f"{step[0]}  {step[1]}", f"{statistics.median(epochs):.3f}", span(epochs, ".3f"),
            str(base[0]) if ratios else "", ratio, spread,
            percent(None if busy is None else 100 * busy),
            percent(middle([r.exposed for r in repeats.values()])),
            f"{stall[0]} {stall[1]:.1f} %" if stall else "-")


def table(found):
    lines = []
    for limit, by_step in found.items():
        rows = [COLUMNS] + [row(step, base_of(step, by_step), by_step) for step in by_step]
        widths = [max(len(r[c]) for r in rows) for c in range(len(COLUMNS))]
        lines.append(f"{limit} ({max(len(r) for r in by_step.values())} repeats)")
        for words in rows:
            first, *middle_words, last = [w.ljust(n) if c in (0, len(words) - 1) else w.rjust(n)
                                          for c, (w, n) in enumerate(zip(words, widths))]
            lines.append("  ".join([first, *middle_words, last]).rstrip())
        lines.append("")
    return "\n".join(lines[:-1])


def main(argv):
    if len(argv) != 1:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        found = load(argv[0])
    except sqlite3.Error as error:
        print(f"strategies_table: {argv[0]}: {error}", file=sys.stderr)
        return 1
    if not found:
        print(f"strategies_table: {argv[0]}: no complete step of loading strategies", file=sys.stderr)
        return 1
    print(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
