"""The parts of report.html: plain HTML that opens without a network and prints well."""
import html

import load

MIB = 1 << 20

STYLE = """
:root { --ink: #1a1a1a; --soft: #5c5c5c; --rule: #d9d9d9; --accent: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 2.5rem 1.5rem 4rem; color: var(--ink);
  background: #fff; font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .6rem; }
h2 { font-size: 1.15rem; margin: 2.6rem 0 .6rem; padding-top: .7rem; border-top: 1px solid var(--rule); }
p { margin: .5rem 0; max-width: 46rem; }
.lead { font-size: 1.05rem; }
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


def digits(value):
    """Three digits that matter."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"


def interval(cell, name, scale=1.0):
    ends = cell.interval(name)
    return "–" if ends is None else f"{digits(ends[0] / scale)} to {digits(ends[1] / scale)}"


def duration(ns):
    if ns is None:
        return "–"
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= scale:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns:.0f} ns"


def ratio(cell):
    if cell.baseline:
        return "baseline"
    value, ends = cell.value("ratio"), cell.interval("ratio")
    if value is None:
        return "–"
    if ends is None:
        return digits(value)
    same = " (no difference)" if ends[0] <= 1 <= ends[1] else ""
    return f"{digits(value)} [{digits(ends[0])}, {digits(ends[1])}]{same}"


COLUMNS = [  # title, is a number, text of a cell
    ("cell", False, lambda c: c.label),
    ("n", True, lambda c: str(c.runs)),
    ("left out", True, lambda c: shown(c.value("incomplete"))),
    ("samples/s", True, lambda c: shown(c.value("samples_per_s"))),
    ("MiB/s", True, lambda c: "–" if c.value("bytes_per_s") is None else digits(c.value("bytes_per_s") / MIB)),
    ("95 % interval", True, lambda c: interval(c, "bytes_per_s", MIB)),
    ("ratio to baseline", True, ratio),
    ("ours / fio", True, lambda c: digits(c.value("fio_ratio"))),
    ("of ceiling", True, lambda c: shown(c.value("ceiling_share"), "{:.0%}")),
    ("first batch", True, lambda c: duration(c.value("first_batch_ns"))),
    ("mean depth", True, lambda c: digits(c.value("depth_mean"))),
    ("requests", True, lambda c: shown(c.value("requests_issued"))),
    ("read / delivered", True, lambda c: digits(c.value("device_bytes_per_byte"))),
    ("utilisation", True, lambda c: shown(c.value("utilisation"), "{:.1%}")),
    ("exposed copy", True, lambda c: shown(c.value("exposed_copy"), "{:.1%}")),
    ("of ideal", True, lambda c: shown(c.value("ideal_share"), "{:.1%}")),
    ("predicted", True, lambda c: duration(c.value("prediction_epoch_ns"))),
    ("error of prediction", True, lambda c: shown(c.value("prediction_error"), "{:+.1%}")),
    ("displacement", True, lambda c: digits(c.value("quality_displacement"))),
    ("label mix", True, lambda c: digits(c.value("quality_label_mix"))),
]


def few_repeats(cells):
    fewest = min((c.runs for c in cells if c.runs), default=0)
    if fewest == 1:
        return "<p class=note>One repeat: no interval, and no difference can be shown.</p>"
    if 1 < fewest < 6:
        return (f"<p class=note>{fewest} repeats: an interval from so few covers the true value in at most "
                f"{1 - 2 ** (1 - fewest):.0%} of cases, whatever the method; six make 95 % possible.</p>")
    return ""


def results(cells, facts):
    del facts
    columns = [c for c in COLUMNS if c[0] in ("cell", "n") or any(c[2](cell) not in ("–", "0") for cell in cells)]
    body = table([(title, numeric) for title, numeric, _ in columns],
                 [[of(cell) for _, _, of in columns] for cell in cells],
                 lambda at: " class=baseline" if cells[at].baseline else "")
    return body + few_repeats(cells)


def fastest(cells):
    """What the cells of one disk show, in a sentence."""
    known = [c for c in cells if c.value("ratio") is not None]
    clear = [c for c in known if c.interval("ratio") and not
             c.interval("ratio")[0] <= 1 <= c.interval("ratio")[1]]
    baseline = next((c for c in cells if c.baseline), None)
    if clear and baseline:
        best = max(clear, key=lambda c: c.value("ratio"))
        if best.value("ratio") > 1:
            ends = best.interval("ratio")
            return (f"Fastest: {best.label}, {digits(best.value('ratio'))} times the samples per second "
                    f"of {baseline.label} (95 % interval {digits(ends[0])} to {digits(ends[1])}).")
        return f"No cell is faster than {baseline.label}."
    if known and baseline:
        return f"No difference from {baseline.label} is shown by these repeats."
    return ""


def lead(cells, facts):
    words = [fastest(of_disk) for _, of_disk in load.by_disk(cells)]
    words.append(f"{facts.counted} runs of {len(cells)} cells are counted; {len(facts.left_out)} incomplete "
                 "ones are left out.")
    return " ".join(w for w in words if w)


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
    varied = [n for n in names if n not in dict(common)]
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
    rows = [[c.kind, f"{c.request_bytes // 1024} KiB", str(c.depth), str(c.rounds), digits(c.median / MIB),
             f"{digits(c.least / MIB)}..{digits(c.greatest / MIB)}", shown(c.reads_per_s)]
            for c in load.ceilings(facts)]
    return table([("pattern", False), ("request", True), ("depth", True), ("rounds", True),
                  ("MiB/s, median", True), ("least..greatest", True), ("reads/s, median", True)], rows)


def how_to_read():
    return """<p>A cell is one combination of settings; its repeats were run interleaved with those of the
other cells, in random order. Intervals are percentile bootstrap intervals of the median over repeats.
Ratios divide each repeat by the repeat of the baseline with the same number, in samples per second; the
value is their geometric mean. A ratio whose interval includes 1.0 is called no difference. Runs with lost
probe events, I/O errors or other losses are marked incomplete and left out. A dash means unknown, not zero.
Columns and units: docs/results-schema.md.</p>"""


def document(title, lead, sections):
    body = "".join(f"<section>\n<h2>{text(name)}</h2>\n{content}\n</section>\n" for name, content in sections)
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
<h1>{text(title)}</h1>
<p class=lead>{text(lead)}</p>
{body}</body>
</html>
"""
