"""The parts of report.html: plain HTML that opens without a network and prints well."""
import dataclasses
import html

import common
import load
import quality
from style import MIB

STYLE = """
:root { --ink: #1a1a1a; --soft: #5c5c5c; --rule: #d9d9d9; --accent: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 2.5rem 1.5rem 4rem; color: var(--ink);
  background: #fff; font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .6rem; }
h2 { font-size: 1.15rem; margin: 2.6rem 0 .6rem; padding-top: .7rem; border-top: 1px solid var(--rule); }
p { margin: .5rem 0; max-width: 46rem; }
.lead { font-size: 1.05rem; }
.rig { max-width: none; padding: .5rem .8rem; border-left: 4px solid var(--rule); }
.rig.good { border-color: #009e73; }
.rig.bad { border-color: #d55e00; font-weight: 600; }
.soft, figcaption, .note { color: var(--soft); font-size: .86rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .75rem .28rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--rule); }
thead th { border-bottom: 2px solid var(--ink); font-weight: 600; vertical-align: bottom; }
.n { text-align: right; white-space: nowrap; }
tbody td:first-child { min-width: 11rem; }
.facts th { font-weight: 400; color: var(--soft); white-space: nowrap; }
.facts td { overflow-wrap: anywhere; }
tr.baseline td { color: var(--accent); }
figure { margin: 0; }
figure svg { display: block; width: 100%; height: auto; max-width: 56rem; }
figcaption { margin-top: .5rem; max-width: 56rem; }
code { font-size: .82rem; overflow-wrap: anywhere; }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  h2 { break-after: avoid; }
  figure, tr { break-inside: avoid; }
}
"""


def text(value):
    return html.escape(str(value))


def table(heads, rows, row_class=lambda row: ""):
    """`heads` are (title, is a number); rows hold texts that are escaped here."""
    def cell(tag, value, numeric):
        return f"<{tag}{' class=n' if numeric else ''}>{text(value)}</{tag}>"
    head = "".join(cell("th", title, numeric) for title, numeric in heads)
    body = "".join(
        f"<tr{row_class(at)}>" + "".join(cell("td", v, n) for v, (_, n) in zip(row, heads)) + "</tr>\n"
        for at, row in enumerate(rows))
    return f'<div class=wide><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def pairs(items):
    if not items:
        return "<p class=soft>None recorded.</p>"
    lines = "".join(f"<tr><th>{text(k)}</th><td>{text(v)}</td></tr>\n" for k, v in items)
    return f"<table class=facts><tbody>{lines}</tbody></table>"


def shown(value, form="{:,.0f}", scale=1.0):
    return "–" if value is None else form.format(value / scale)


def spread(cell, name, scale=1.0):
    least, greatest = cell.value(name + "_least"), cell.value(name + "_greatest")
    if least is None or greatest is None or cell.runs < 2:
        return "–"
    return f"{common.digits(least / scale)} to {common.digits(greatest / scale)}"


def duration(ns):
    if ns is None:
        return "–"
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= scale:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns:.0f} ns"


def estimate(cell, name):
    value, ends = cell.value(name), cell.interval(name)
    if value is None:
        return "–"
    return common.digits(value) if ends is None else f"{common.digits(value)} [{common.digits(ends[0])}, {common.digits(ends[1])}]"


def ratio(cell):
    return "baseline" if cell.baseline else estimate(cell, "ratio")


def with_margin(cell, word, of):
    return word + (", within the margin" if word in load.DIFFERENT else "; equal") if cell.value(of + "equal") else word


def verdict(cell):
    """"faster", "not shown (needs 4.2 %)", "" of the baseline and of too few pairs."""
    least = None if cell.value("equal") else cell.value("detectable")
    word = with_margin(cell, cell.verdict, "")
    return word if least is None else f"{word} (needs {common.percent(least)})"


COLUMNS = [  # title, is a number, text of a cell
    ("cell", False, lambda c: c.label),
    ("n", True, lambda c: str(c.runs)),
    ("left out", True, lambda c: shown(c.value("incomplete"))),
    ("samples/s", True, lambda c: shown(c.value("samples_per_s"))),
    ("MiB/s", True, lambda c: "–" if c.value("bytes_per_s") is None else common.digits(c.value("bytes_per_s") / MIB)),
    ("least..greatest", True, lambda c: spread(c, "bytes_per_s", MIB)),
    ("ratio [95 %]", True, ratio),
    ("verdict", False, verdict),
    ("ours / fio", True, lambda c: estimate(c, "fio_ratio")),
    ("against fio", False, lambda c: with_margin(c, c.fio_verdict, "fio_")),  # what it needs: cells.csv
    ("waits for decoding", True, lambda c: "–" if c.value("decode_wait") is None else common.decode_bound_text(c.value("decode_wait"))),
    ("of ceiling", True, lambda c: shown(c.value("ceiling_share"), "{:.0%}")),
    ("first batch", True, lambda c: duration(c.value("first_batch_ns"))),
    ("mean depth", True, lambda c: common.digits(c.value("depth_mean"))),
    ("requests", True, lambda c: shown(c.value("requests_issued"))),
    ("read amplification", True, lambda c: common.digits(c.value("read_amplification"))),
    ("utilisation", True, lambda c: shown(c.value("utilisation"), "{:.1%}")),
    ("exposed copy", True, lambda c: shown(c.value("exposed_copy"), "{:.1%}")),
    ("hidden transfer", True, lambda c: shown(c.value("hidden_transfer"), "{:.1%}")),
    ("of ideal", True, lambda c: shown(c.value("ideal_share"), "{:.1%}")),
    ("predicted", True, lambda c: duration(c.value("prediction_epoch_ns"))),
    ("prediction error", True, lambda c: shown(c.value("prediction_error"), "{:+.1%}")),
    ("displacement", True, lambda c: common.digits(c.value("quality_displacement"))),
    ("label mix", True, lambda c: common.digits(c.value("quality_label_mix"))),
]


def results(cells, facts):
    columns = [c for c in COLUMNS if c[0] in ("cell", "n") or any(c[2](cell) not in ("–", "0", "") for cell in cells)]
    body = table([(title, numeric) for title, numeric, _ in columns],
                 [[of(cell) for _, _, of in columns] for cell in cells],
                 lambda at: " class=baseline" if cells[at].baseline else "")
    return body + "".join(f"<p class=note>{text(line)}</p>" for line in result_notes(cells, facts))


def result_notes(cells, facts):
    """What the words of the table claim, and what they cannot."""
    notes = []
    compared, beside = common.words_of(cells, "verdict"), common.words_of(cells, "fio_verdict")
    if compared > 0:
        notes.append(f"Ratio: of samples per second, {common.interval_text(cells)}. Verdict: t test after Holm's correction, "
                     f"at most 5 % for one wrong word among {common.plural(compared, 'comparison')} with a baseline. Not shown "
                     "(needs x %): a mean of x % would have been shown by this many rounds of this noise; it is not equality.")
    if beside > 0:
        notes.append(f"Against fio: the same test of ours / fio, whether the tool itself is faster or slower than fio with the same reads; "
                     f"{common.plural(beside, 'comparison')} of their own.")
    notes += [t for t in (common.unseen_baselines(cells), *map(common.stopping_text, (facts, *facts.others))) if t]
    notes.append(f"samples/s, MiB/s, first batch and the columns after it: medians ({common.repeats_text(cells)} a row).")
    notes += [f"{c.label}: {common.plural(int(c.value('split')), 'round')} split between sessions; such runs are no pairs."
              for c in cells if c.value("split")]
    few = common.few_pairs(cells)
    return notes + ([few] if few else [])


MIXED = 0.95  # of label mix, from which a cell is called shuffled


def mixing(cell):
    """(measure, its word) of how mixed an order training sees: by labels, and without them by the least measure."""
    mix = cell.value("quality_label_mix")
    if mix is not None:
        return mix, "label mix"
    worst = quality.of_cell(cell)
    return (worst[0], quality.MEASURES[worst[1]]) if worst else (None, "shuffle quality")


def shuffled(cell):
    return (mixing(cell)[0] or 0) >= MIXED


def gain(cell, baseline):
    ends = cell.interval("ratio")
    fallbacks = cell.value("device_fallbacks")
    through_files = f", {fallbacks:,.0f} samples of it read through files" if fallbacks else ""
    mixed, measure = mixing(cell)
    return (f"{cell.label}{through_files}, {common.digits(cell.value('ratio'))} times the samples per second of "
            f"{baseline.label} (95 % interval {common.digits(ends[0])} to {common.digits(ends[1])}; {measure} {shown(mixed, '{:.2f}')})")


def fastest(cells):
    """What the cells of one disk show, in a sentence or two."""
    known = [c for c in cells if c.value("ratio") is not None]
    baseline = next((c for c in cells if c.baseline), None)
    if not known or not baseline:
        return ""
    if not any(c.verdict for c in known):
        return f"No verdict against {baseline.label}: {common.few_pairs(known)}"
    faster = [c for c in known if c.verdict == "faster"]
    if not faster:
        return f"No cell was shown to be faster than {baseline.label}."
    best = max(faster, key=lambda c: c.value("ratio"))
    said = f"Fastest: {gain(best, baseline)}."
    if shuffled(best):
        return said
    mixed = max((c for c in faster if shuffled(c)), key=lambda c: c.value("ratio"), default=None)
    return f"{said} " + (f"Fastest of those mixed to {MIXED} or more: {gain(mixed, baseline)}." if mixed
                         else f"No cell mixed to {MIXED} or more was shown to be faster.")


def lead(cells, facts):
    """A line for each disk, and one for what was counted."""
    lines = []
    for disk, of_disk in load.by_disk(cells):
        said = fastest([dataclasses.replace(c, label=c.label_on_disk) for c in of_disk])
        lines += [f"{disk}: {said[0].lower()}{said[1:]}" if disk else said] if said else []
    return [*lines, f"{facts.counted} runs of {len(cells)} cells are counted; {len(facts.left_out)} incomplete ones are left out."]


def figure(svg, caption):
    if svg is None:
        return f"<p class=soft>{text(caption)}</p>"
    first, *sources = caption.strip().split("\n")
    small = "<br>\n".join(f"<code>{text(line)}</code>" for line in sources)
    return f"<figure>{svg}<figcaption>{text(first)}<br>\n{small}</figcaption></figure>"


def left_out(facts):
    if not facts.left_out:
        return "<p class=soft>No run was left out.</p>"
    rows = [[label, str(repeat), reason] for label, repeat, reason in facts.left_out]
    return table([("cell", False), ("repeat", True), ("why", False)], rows)


def warnings(found):
    if not found:
        return "<p class=soft>None.</p>"
    return table([("runs", True), ("warning", False)], [[str(n), w] for w, n in found])


def settings(cells):
    names = list(dict.fromkeys(name for c in cells for name in c.settings))
    common = [(n, cells[0].settings.get(n, "")) for n in names
              if len({c.settings.get(n, "") for c in cells}) == 1]
    shared = dict(common)
    varied = [n for n in names if n not in shared]
    parts = ""
    if varied:
        rows = [[c.label] + [c.settings.get(n, "") for n in varied] for c in cells]
        parts += table([("cell", False)] + [(n, False) for n in varied], rows)
    if common:
        parts += "<p class=note>The same in all cells:</p>" + pairs(common)
    return parts


def layers(facts):
    """A row for each disk of the stack, with all that the kernel says of it."""
    if not facts.layers:
        return "<p class=soft>Unknown.</p>"
    by_disk = {}
    for disk, name, value in facts.layers:
        by_disk.setdefault(disk, []).append(f"{name.replace('_', ' ')}: {value}")
    return pairs([(disk, "; ".join(said)) for disk, said in by_disk.items()])


def ceilings(facts):
    if not facts.ceilings:
        return "<p class=soft>Not measured.</p>"
    rows = [[c.kind, f"{c.request_bytes // 1024} KiB", str(c.depth), str(c.rounds), common.digits(c.median / MIB),
             f"{common.digits(c.least / MIB)}..{common.digits(c.greatest / MIB)}", shown(c.reads_per_s)]
            for c in load.ceilings(facts)]
    return table([("pattern", False), ("request", True), ("depth", True), ("rounds", True),
                  ("MiB/s, median", True), ("least..greatest", True), ("reads/s, median", True)], rows)


def how_to_read():
    return """<p>A cell is one combination of settings; its repeats were run interleaved with those of the
other cells, in an order drawn anew for every round. A ratio divides samples per second by those of the baseline in
the same round and session; the value is the geometric mean, its 95 % interval Student's t on the logarithms. Faster
and slower are called by that test after Holm's correction over all comparisons with one baseline, from five
pairs on. Not shown is not equal: it says how large a mean difference would have had to be. Levels (samples/s, MiB/s) are
medians with the range of their repeats; only ratios carry an interval. Where rounds were added until intervals were narrow
(<code>--repeats auto</code>), t is taken at 97 %, with which they cover 95 % after such a stop. Runs with lost probe events, I/O errors or
other losses are marked incomplete and left out. A dash means unknown, not zero.
The method and its error rates: docs/statistics.md. Columns and units: docs/results-schema.md.</p>"""


def is_bad(line):
    """Of what controls say first: anything but that they passed, or cannot be judged."""
    return not line.startswith("controls")


def rig_lines(lines):
    """What is to be known before any figure: the first line in full strength, the others below it."""
    if not lines:
        return ""
    kind = "bad" if is_bad(lines[0]) else "soft" if lines[0].startswith("controls not") else "good"
    rest = "".join(f"<p class=note>{text(line)}</p>\n" for line in lines[1:])
    return f"<p class='rig {kind}'>{text(lines[0])}</p>\n{rest}"


def document(title, lead, sections, rig=()):
    body = "".join(f"<section>\n<h2>{text(name)}</h2>\n{content}\n</section>\n" for name, content in sections)
    lead_lines = "".join(f"<p class=lead>{text(line)}</p>\n" for line in lead)
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{text(title)}</title>
<style>{STYLE}</style>
</head>
<body>
{rig_lines(rig)}<h1>{text(title)}</h1>
{lead_lines}{body}</body>
</html>
"""
