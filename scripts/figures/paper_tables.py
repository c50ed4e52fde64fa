"""numbers.tex and the booktabs tables: the texts of the report's table, in LaTeX. Nothing is computed here."""
import dataclasses
import functools
import math

import common
import load
import page
import tex

UNKNOWN = "--"

NUMBERS_HEAD = r"""% Numbers of a blksweep experiment; \input it in the preamble. docs/paper.md of blksweep lists the names.
%   \blk{CELL}{NAME}        as the report's table has it          \blkexact{CELL}{NAME}   all digits, as data/cells.csv
%   \blkfact{NAME}          of the node, the disk and the data    \blkcaption{FIGURE}     see captions.tex
% A name that is not there, or whose value is not known, is an error of LaTeX, never an empty place.
% Two experiments: \def\blkprefix{hdd:}\input{hdd/numbers}, then \blk{hdd:CELL}{NAME}.
% Figures find their pictures through \blkpath: \def\blkpath{hdd/} where this folder is not the document's.
\providecommand\blkprefix{}
\providecommand\blkpath{}
\providecommand\blklookup[2]{\ifcsname blk:#1:#2\endcsname\csname blk:#1:#2\endcsname\else\blkunknown{#1}{#2}\fi}
\providecommand\blkunknown[2]{\PackageError{blksweep}{nothing is known of `#2' in `#1'}{See numbers.tex.}??}
\providecommand\blkput[3]{\expandafter\gdef\csname blk:\blkprefix#1:#2\endcsname{#3}}
\providecommand\blk[2]{\blklookup{#1}{#2}}
\providecommand\blkexact[2]{\blklookup{#1}{=#2}}
\providecommand\blkfact[1]{\blklookup{\blkprefix fact}{#1}}
\providecommand\blkcaption[1]{\blklookup{\blkprefix caption}{#1}}
"""


@dataclasses.dataclass(frozen=True)
class Shown:
    cells: list
    facts: load.Facts
    numbers: dict  # {cell_id: {name: text}}
    data: dict     # {"samples": ..., "bytes": ...} in words
    rig: tuple = ()  # what its controls say, the weightiest first

    @functools.cached_property
    def keys(self):
        """{cell_id: key}; of equal ones the later get the cell's number."""
        found = {}
        for c in self.cells:
            key = tex.slug(c.label) or f"cell-{c.cell_id}"
            while key in found.values() or key in ("fact", "caption"):  # also with the number, of a label that ends in it
                key += f"-{c.cell_id}"
            found[c.cell_id] = key
        return found

    def of(self, cell, name):
        return self.numbers.get(cell.cell_id, {}).get(name)


def put(key, name, text):
    return rf"\blkput{{{key}}}{{{name}}}{{{text}}}" + "\n"


def span(low, high):
    """-- would read as a minus where an end is below zero."""
    return f"{tex.escape(low)}--{tex.escape(high)}"


def derived(numbers):
    """Names that are two numbers together."""
    for name in ("ratio", "fio_ratio", "fio_plain_ratio", "ratio_ranked"):
        if name + "_low" in numbers:
            yield name + "_interval", f"[{tex.escape(numbers[name + '_low'])}, {tex.escape(numbers[name + '_high'])}]"
    for name in ("mib_per_s", "samples_per_s"):
        if name + "_least" in numbers:
            yield name + "_range", span(numbers[name + "_least"], numbers[name + "_greatest"])


def cell_numbers(shown, cell):
    key, numbers = shown.keys[cell.cell_id], shown.numbers.get(cell.cell_id, {})
    out = put(key, "label", tex.escape(cell.label))
    texts = [(name, tex.escape(text)) for name, text in numbers.items()]
    for name, text in [*texts, *derived(numbers)]:
        out += put(key, name.replace("_", "-"), text)
    for name, value in cell.values.items():
        if value is not None and name not in ("cell_id", "label", "verdict", "ratio_to"):
            out += put(key, "=" + name.replace("_", "-"), exact(value))
    return out


def exact(value):
    """All digits, sixteen from the first that is no zero, without an exponent, which LaTeX's own arithmetic would not read."""
    if value == int(value) and abs(value) < 1e16:
        return f"{int(value)}"
    return f"{value:.{max(1, 15 - math.floor(math.log10(abs(value))))}f}".rstrip("0")


def ceiling_numbers(facts):
    for c in load.ceilings(facts):
        yield f"ceiling-{c.kind}-mib-per-s", common.digits(c.median / page.MIB)
        yield f"ceiling-{c.kind}-least", common.digits(c.least / page.MIB)
        yield f"ceiling-{c.kind}-greatest", common.digits(c.greatest / page.MIB)


def disk_facts(facts, cells):
    host = facts.host
    for name in ("hostname", "kernel", "cpu", "cpus", "device", "device_model", "filesystem", "mount_options",
                 "gpu", "tool_version", "git_revision"):
        yield name.replace("_", "-"), host[name]
    yield "scheduler", common.schedulers(facts, cells)
    yield "memory-gib", f"{host['memory_bytes'] / 2**30:.1f}"
    yield "disk", facts.label or host["device_model"] or host["device"]
    yield from ceiling_numbers(facts)


def fact_numbers(shown):
    facts = shown.facts
    out = [("runs", facts.counted), ("left-out", len(facts.left_out)), ("cells", len(shown.cells)),
           *shown.data.items()]
    for number, (of_disk, (_, cells)) in enumerate(zip((facts, *facts.others), load.by_disk(shown.cells)), 1):
        tail = "" if number == 1 else f"-{number}"
        out += [(name + tail, value) for name, value in disk_facts(of_disk, cells)]
    return "".join(put("fact", name, tex.escape(value)) for name, value in out if value not in ("", None))


def numbers_tex(shown):
    parts = [cell_numbers(shown, c) for c in shown.cells]
    return NUMBERS_HEAD + fact_numbers(shown) + "".join(parts)


def text_of(name):
    return lambda shown, c: tex.escape(shown.of(c, name) or "")


def spread(name):
    def of(shown, c):
        low, high = shown.of(c, name + "_least"), shown.of(c, name + "_greatest")
        return span(low, high) if low and c.runs > 1 else ""
    return of


def ratio(name):
    """2.73 [2.70, 2.76]"""
    def of(shown, c):
        value, low = shown.of(c, name), shown.of(c, name + "_low")
        if value is None:
            return "baseline" if c.baseline and name == "ratio" else ""
        ends = f" [{tex.escape(low)}, {tex.escape(shown.of(c, name + '_high'))}]" if low else ""
        return tex.escape(value) + ends
    return of


def verdict(shown, c):
    return tex.escape(c.verdict) if shown.of(c, "verdict") else ""


def both(first, second):
    def of(shown, c):
        a, b = shown.of(c, first), shown.of(c, second)
        return f"{tex.escape(a)} / {tex.escape(b)}" if a and b else ""
    return of


def few(shown, c):
    """Runs left out, where there are any."""
    text = shown.of(c, "left_out")
    return tex.escape(text) if text != "0" else ""


N = ("n", "r", text_of("n"))
INTERVAL = r" [95\,\%]"
TABLES = {  # name: [(heading, alignment, text of a cell)]; what no cell has is left out
    "comparison": [("samples/s", "r", text_of("samples_per_s")), ("ratio" + INTERVAL, "r", ratio("ratio")),
                   ("verdict", "l", verdict)],
    "results": [N, ("left out", "r", few), ("samples/s", "r", text_of("samples_per_s")),
                ("MiB/s", "r", text_of("mib_per_s")), ("range", "r", spread("mib_per_s")),
                ("ratio" + INTERVAL, "r", ratio("ratio")), ("verdict", "l", text_of("verdict"))],
    "device": [N, ("ours / fio" + INTERVAL, "r", ratio("fio_ratio")), ("against fio", "l", text_of("fio_verdict")),
               ("ours / plain fio" + INTERVAL, "r", ratio("fio_plain_ratio")),
               ("requests", "r", both("device_requests", "fio_requests")), ("of ceiling", "r", text_of("ceiling_share")),
               ("first batch", "r", text_of("first_batch")), ("depth", "r", text_of("depth_mean")),
               ("read ampl.", "r", text_of("read_amplification"))],
    "stages": [N, ("utilisation", "r", text_of("utilisation")), ("exposed copy", "r", text_of("exposed_copy")),
               ("copy CPU", "r", text_of("copy_cpu")), ("of ideal", "r", text_of("ideal_share")),
               ("predicted", "r", text_of("prediction")), ("error", "r", text_of("prediction_error"))],
    "shuffle": [N, ("displacement", "r", text_of("displacement")), ("label mix", "r", text_of("label_mix"))],
}


def rows(shown, columns):
    """Lines of the table; several disks each under their name."""
    out, several = [], len(load.by_disk(shown.cells)) > 1
    for number, (disk, cells) in enumerate(load.by_disk(shown.cells)):
        if several:
            out += [r"\addlinespace" if number else "",
                    rf"\multicolumn{{{len(columns) + 1}}}{{@{{}}l}}{{\emph{{{tex.escape(disk)}}}}} \\"]
        for c in cells:
            texts = [of(shown, c) or UNKNOWN for _, _, of in columns]
            out.append(" & ".join([tex.escape(c.label_on_disk), *texts]) + r" \\")
    return [line for line in out if line]


def table(shown, columns):
    columns = [c for c in columns if any(c[2](shown, cell) for cell in shown.cells)]
    if not [c for c in columns if c is not N]:
        return None
    heads = " & ".join(["cell", *(rf"\multicolumn{{1}}{{{align}}}{{{head}}}" for head, align, _ in columns[:-1])])
    last, align, _ = columns[-1]
    heads += rf" & \multicolumn{{1}}{{{align}@{{}}}}{{{last}}} \\"
    kinds = "".join(align for _, align, _ in columns)
    return "\n".join([
        r"% Needs \usepackage{booktabs,tabularx}; as wide as \linewidth.",
        rf"\begingroup\setlength\tabcolsep{{4pt}}\begin{{tabularx}}{{\linewidth}}"
        rf"{{@{{}}>{{\raggedright\arraybackslash}}X{kinds}@{{}}}}",
        r"\toprule", heads, r"\midrule", *rows(shown, columns), r"\bottomrule", r"\end{tabularx}\endgroup%", ""])


def tables(shown):
    """{name: LaTeX} of the tables that these cells have."""
    found = {name: table(shown, columns) for name, columns in TABLES.items()}
    return {name: text for name, text in found.items() if text}
