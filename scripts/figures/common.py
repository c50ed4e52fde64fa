"""What every figure script shares: arguments, captions, the way from a database to files."""
import argparse
import dataclasses
import pathlib
import sys

import load
import style

LEAST_ROUNDS = 5  # as kLeastRounds of src/stats/paired.h
DECODE_BOUND = 0.5  # as kDecodeBound of src/store/summary/decode_bound.h


def plural(count, word):
    return f"{count} {word}" + ("" if count == 1 else "s")


def without_probe(panels, cells):
    """The end of a caption: how many cells have no panel, because their runs had no probe; or ""."""
    missing = len(cells) - len(panels)
    return f" {plural(missing, 'cell')} without probe data not shown." if missing else ""


def left_out_text(facts):
    if not facts.left_out:
        return "No run was left out."
    return f"{plural(len(facts.left_out), 'incomplete run')} left out."


def disk_text(facts):
    """"loop1, emulated hdd-7200 x1, ext4": whatever its label says, an emulated disk is called one."""
    host = facts.host
    words = [facts.label, host["device"], host["device_model"], host["filesystem"]]
    return ", ".join(dict.fromkeys(w for w in words if w))


def in_use(listed):
    """What the kernel brackets of what there is: "none" of "[none] mq-deadline"."""
    return next((word[1:-1] for word in listed.split() if word.startswith("[")), listed.strip())


def schedulers(facts, cells):
    """Those that runs had: a cell may ask for another than was found."""
    found = in_use(facts.host["scheduler"] or "")
    asked = [c.settings.get("scheduler") or "keep" for c in cells] or ["keep"]
    return ", ".join(dict.fromkeys(found if name == "keep" else name for name in asked))


def digits(value):
    """Three digits that matter."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"


def span(counts, word):
    """"n = 5 repeats", "n = 3 to 5 repeats": of what a figure's rows or panels have."""
    least, greatest = min(counts), max(counts)
    return f"n = {plural(greatest, word)}" if least == greatest else f"n = {least} to {plural(greatest, word)}"


def repeats_text(cells):
    return span([c.runs for c in cells], "repeat")


def interval_text(cells):
    """Method, level and n of ratios that stand with their interval; or "" where none has one."""
    pairs = [int(c.value("pairs")) for c in cells if c.interval("ratio")]
    if not pairs:
        return ""
    return (f"geometric mean over the pairs of a round ({span(pairs, 'pair')}) with its 95 % interval, Student's t on "
            "the logarithms, each comparison alone")


def percent(share):
    """Two digits that matter."""
    return f"{share:.0%}" if share >= 0.0995 else f"{share:.1%}" if share >= 0.00995 else f"{share:.2%}"


def decode_bound_text(share):
    """Of the epoch that a peer's consumer waited for busy decoders: "93 %, decode-bound"."""
    return f"{100 * share:.0f} %, {'' if share >= DECODE_BOUND else 'not '}decode-bound"


def stopping_text(facts):
    """How many rounds `--repeats auto` made, and what that does to intervals; "" beside a number of repeats."""
    if not facts.stopping:
        return ""
    precision, rounds, intervals, reached, half_width, name, reason = facts.stopping
    widest = "" if half_width is None else f", the widest {percent(half_width)} ({name})"
    return (f"Rounds were added until intervals were narrow: after {rounds} of them {reached} of {intervals} within "
            f"{percent(precision)}{widest}; ended by {reason or 'being cut off'}. Intervals and verdicts allow for that.")


def unseen_baselines(cells):
    """What ratios refer to and no row shows, in a sentence; ""."""
    names = dict.fromkeys(c.ratio_to for c in cells if c.ratio_to)
    unseen = [n for n in names if not any(c.baseline and n in (c.label, f"{c.disk} + {c.label}") for c in cells)]
    return f"Ratios are to {'; '.join(unseen)}, not shown here." if unseen else ""


def words_of(cells, verdict):
    """How many words of that verdict ("verdict", "fio_verdict") a family has: the cells of one disk; of several the most."""
    return max((sum(1 for c in of_disk if getattr(c, verdict)) for _, of_disk in load.by_disk(cells)), default=0)


def few_pairs(cells):
    """What the fewest pairs with a baseline cannot bear, or ""."""
    pairs = [int(c.value("pairs")) for c in cells if c.value("ratio") is not None]
    if not pairs or min(pairs) >= LEAST_ROUNDS:
        return ""
    return (f"{plural(min(pairs), 'pair')}: no interval and no verdict from fewer than {LEAST_ROUNDS}.")


def where(facts):
    """Disks, kernel, runs counted and left out."""
    everything = (facts, *facts.others)
    disks = list(dict.fromkeys(disk_text(dataclasses.replace(f, label="")) for f in everything))
    if len(disks) > 1 or len(everything) == 1:  # labels of what lies on one disk are no disks
        disks = list(dict.fromkeys(map(disk_text, everything)))
    nodes = dict.fromkeys(f"{f.host['cpu']}, {f.host['kernel']}" for f in everything)
    return (f"Disk: {'; '.join(disks)}. {'; '.join(nodes)}. {plural(facts.counted, 'run')} counted. "
            f"{left_out_text(facts)}")


def footer(cells, facts):
    """The line under an exported figure: disks, kernel, runs, and what they cannot bear."""
    return " ".join(t for t in (where(facts), few_pairs(cells)) if t)


def caption(text, query, facts):
    """The caption's lines: what is shown, what was left out, then where it comes from."""
    def host_line(host):
        model = f" ({host['device_model']})" if host["device_model"] else ""
        return (f"host: {host['hostname']}, {host['kernel']}, {host['cpu']}, "
                f"{host['device']}{model}, {host['filesystem']}, scheduler {in_use(host['scheduler'])}"
                + (f", GPU {host['gpu']}" if host["gpu"] else "") + "\n")
    everything = (facts, *facts.others)
    revisions = dict.fromkeys(f"{f.host['tool_version']} ({f.host['git_revision']})" for f in everything)
    stopping = [t for t in map(stopping_text, everything) if t]
    return (" ".join([text, *stopping, f"{plural(facts.counted, 'run')} counted.", left_out_text(facts)]) + "\n"
            f"query: {' '.join(query.split())}\n"
            f"revision: {', '.join(revisions)}\n"
            + "".join(dict.fromkeys(host_line(f.host) for f in everything)))


def make(module, db, cells, stem, title=""):
    """Draws one figure; returns its caption. NothingToDraw when the data is not there."""
    cells = [c for c in cells if c.runs > 0]
    if not cells:
        raise load.NothingToDraw("no complete run")
    facts = load.load_facts(db, cells)
    data = module.load(db, cells)
    fig = module.draw(data, cells, facts)
    style.frame(fig, title, footer(cells, facts))
    style.save(fig, stem)
    text = caption(module.describe(data, cells), module.QUERY, facts)
    if ".svg" in style.look.formats:  # a page; what a paper says of a figure stands elsewhere
        pathlib.Path(stem).with_suffix(".txt").write_text(text, encoding="utf-8")
    return text


def figure_main(module, argv):
    parser = argparse.ArgumentParser(description=module.__doc__.splitlines()[0])
    parser.add_argument("db", type=pathlib.Path, help="results database")
    parser.add_argument("--cells", type=pathlib.Path, required=True,
                        help="cells.csv that 'blksweep report DB -o DIR' wrote")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True,
                        help="files to write, without .pdf, .svg, .png, .txt")
    args = parser.parse_args(argv)
    try:
        make(module, args.db, load.load_cells(args.cells), args.output)
    except load.NothingToDraw as nothing:
        print(f"{args.db}: nothing to draw: {nothing}", file=sys.stderr)
        return 3
    return 0
