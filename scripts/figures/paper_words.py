"""Sentences of a paper: captions, the methods paragraph, the sample document and the README of its folder."""
import collections
import datetime

import common
import load
import page
import quality
import tex

WIDTH_WORDS = {"column": r"\columnwidth", "page": r"\textwidth"}
DATA_QUERY = "SELECT DISTINCT cell_id, samples, bytes FROM good_run"
FIO_ARMS = {"grouped": " and groups", "plain": ", one read at a time"}  # as the table calls them
QUEUE_OF_CELLS = ("scheduler", "nr-requests", "read-ahead")  # a scheduler brings its own nr_requests
TABLE_WORDS = {
    "comparison": "Samples per second and their ratio to the baseline",
    "results": "Throughput of each cell: medians, range of the repeats, ratio to the baseline",
    "device": "Each cell at the device: beside fio with the same reads (requests: ours / fio), as a share of the "
              "sequential ceiling, and what the probe saw",
    "stages": "Stages of an epoch, as shares of it",
    "shuffle": "How well each cell shuffles (0: not at all, 1: as a random permutation). "
               f"{quality.sentence('quality_displacement', 'quality_label_mix')}",
}


def data_set(db, cells):
    """Samples and bytes of an epoch, in words; several cells may read several data sets."""
    epochs = {c.cell_id: max(int(c.settings.get("epochs") or 1), 1) for c in cells}  # a run has all of them
    found = [(cell, samples // epochs[cell], size // epochs[cell])
             for cell, samples, size in load.rows(db, DATA_QUERY) if cell in epochs]
    if not found:
        return {}

    def ends(values, form):
        low, high = form(min(values)), form(max(values))
        return low if low == high else f"{low} to {high}"
    return {"samples": ends([s for _, s, _ in found], "{:,}".format),
            "bytes": ends([b for _, _, b in found], "{:,}".format),
            "data-mib": ends([b / page.MIB for _, _, b in found], common.digits)}


def settings_of(cells):
    """({name: value} of all cells, [names that vary])"""
    names = list(dict.fromkeys(name for c in cells for name in c.settings))
    same = {n: cells[0].settings.get(n, "") for n in names if len({c.settings.get(n, "") for c in cells}) == 1}
    return same, [n for n in names if n not in same]


def counted(cells):
    """n of the cells: "n = 5", "n = 4 to 5"."""
    runs = [c.runs for c in cells]
    return f"n = {min(runs)}" + ("" if min(runs) == max(runs) else f" to {max(runs)}")


def left_out(facts):
    reasons = list(dict.fromkeys(reason for *_, reason in facts.left_out))
    if not reasons:
        return common.left_out_text(facts)
    more = f", and {len(reasons) - 3} further reasons" if len(reasons) > 3 else ""
    return f"{common.left_out_text(facts)[:-1]} ({'; '.join(reasons[:3])}{more})."


def statistic(cells, facts):
    """What a ratio and a word of a verdict are, as far as these cells have them; how rounds were stopped."""
    words = [c.verdict for c in cells if c.verdict]
    if not any(c.value("ratio") is not None for c in cells):
        return ""
    text = ("Ratios: samples per second over the baseline's of the same round and session, geometric mean over rounds")
    if any(c.interval("ratio") for c in cells):
        pairs = common.span([int(c.value("pairs")) for c in cells if c.interval("ratio")], "pair")
        text += f" ({pairs}); interval: 95 %, Student's t on their logarithms, each comparison alone"
    if words:
        text += ("; verdicts: the t test after Holm's correction, 5 % for one wrong word among "
                 f"{common.words_of(cells, 'verdict')}; not shown is not equal")
    further = [common.unseen_baselines(cells), common.few_pairs(cells), *(common.stopping_text(f) for f in (facts, *facts.others))]
    return " ".join([text + ".", *(t for t in further if t)])


def beside_fio(cells):
    """What the word of the column "against fio" is."""
    compared = common.words_of(cells, "fio_verdict")
    return (f"Against fio: the t test of ours / fio over rounds, after Holm's correction, 5 % for one wrong word among {compared}; "
            "not shown is not equal." if compared else "")


def disks(facts):
    found = "; ".join(dict.fromkeys(common.disk_text(f) for f in (facts, *facts.others)))
    return f"Disk: {found}." if not facts.others else f"Disks: {found}."


def doubt(shown):
    """That the rig cannot be trusted; a figure may be seen alone."""
    return f" {shown.rig[0]}." if shown.rig and page.is_bad(shown.rig[0]) else ""


def tail(shown):
    """What every caption ends in."""
    return f"{counted(shown.cells)[0].upper()}{counted(shown.cells)[1:]}".replace("N =", "n =") + \
        f" runs a cell, {shown.facts.counted} in all. {left_out(shown.facts)} {disks(shown.facts)}{doubt(shown)}"


def figure_caption(shown, text):
    """`text` is describe()'s, with what was counted: that is in the tail."""
    said = text.split(f" {common.plural(shown.facts.counted, 'run')} counted.")[0]
    return f"{said} {tail(shown)}"


METHODS = {  # of a table's words
    "comparison": lambda shown: statistic(shown.cells, shown.facts),
    "results": lambda shown: statistic(shown.cells, shown.facts),
    "device": lambda shown: beside_fio(shown.cells),
}


def captions_tex(shown, drawn, tables):
    lines = ["% \\blkcaption{NAME}: what is shown, how often, by which method, on what, and what was left out.\n"]
    put = r"\blkput{{caption}}{{{}}}{{{}}}" + "\n"
    lines += [put.format(name, tex.escape(figure_caption(shown, text))) for name, _, text in drawn]
    for name in tables:
        method = METHODS[name](shown) if name in METHODS else ""
        words = " ".join(w for w in (f"{TABLE_WORDS[name]}.", method, tail(shown)) if w)
        lines.append(put.format(name, tex.escape(words)))
    return "".join(lines)


def node_words(facts):
    host = facts.host
    return (f"{host['hostname']} ({host['cpu']}, {common.plural(host['cpus'], 'CPU')}, "
            f"{host['memory_bytes'] / 2**30:.1f} GiB of memory"
            + (f", GPU {host['gpu']}" if host["gpu"] else "") + f") under Linux {host['kernel'].removeprefix('Linux ')}")


def started_words(queue):
    """What whoever started the program gave it or took from it, where that is unusual."""
    said = []
    if queue.get("process/io_priority", "none") != "none":
        said.append(f"I/O priority {queue['process/io_priority']}")
    if queue.get("process/nice", "0") != "0":
        said.append(f"niceness {queue['process/nice']}")
    if queue.get("memory/transparent_hugepage") == "never":
        said.append("no huge pages")
    return f"; started with {', '.join(said)}" if said else ""


def disk_words(facts, cells):
    host = facts.host
    spins = {0: "not rotational", 1: "rotational"}.get(host["rotational"], "rotation unknown")
    queue = dict(facts.queue)
    settings = ", ".join(f"{name} {queue[name]}" for name in ("nr_requests", "max_sectors_kb", "read_ahead_kb")
                         if name in queue)
    if settings and any(c.settings.get(name, "keep") != "keep" for c in cells for name in QUEUE_OF_CELLS):
        settings = f"as found: {settings}"
    text = (f"{common.disk_text(facts)}, {spins}, mounted {host['mount_options']}; I/O scheduler "
            f"{common.schedulers(facts, cells) or 'unknown'}" + (f" ({settings})" if settings else "") + started_words(queue))
    below = [f"{disk}: {value}" for disk, name, value in facts.layers
             if name in ("emulation", "backing_file", "model") and value]
    return text + (f". It stands on {'; '.join(below)}" if below else "")


def cache_words(cells):
    kinds = list(dict.fromkeys(c.settings.get("cache", "") for c in cells))
    resident = [c.value("resident_before") for c in cells if c.value("resident_before") is not None]
    text = f"Cache protocol: {', '.join(k for k in kinds if k) or 'not set'}"
    if kinds == ["cold"]:
        text += " (page and inode caches of the data dropped before every run)"
    if resident:
        share = "none" if max(resident) == 0 else f"{common.percent(min(resident))} to {common.percent(max(resident))}"
        text += f"; {share} of the data was in the page cache when a run began (medians of cells)"
    return text + "."


def others_words(db, cells):
    """fio, probe, ceilings: what was measured beside the runs of these cells."""
    ids = [c.cell_id for c in cells]
    of_cells = f"good_run WHERE cell_id IN ({', '.join('?' * len(ids))})"
    runs, = load.rows(db, f"SELECT count(*) FROM {of_cells}", ids)[0]
    fio = load.rows(db, f"SELECT arm, version, count(*) FROM fio WHERE run_id IN (SELECT run_id FROM {of_cells}) "
                        "GROUP BY arm, version ORDER BY arm, version", ids)
    probed, lost = load.rows(db, "SELECT count(*), coalesce(sum(lost_events), 0) FROM probe WHERE run_id IN "
                                 f"(SELECT run_id FROM {of_cells})", ids)[0]
    said = []
    for arm, how in FIO_ARMS.items():
        versions = [version for of, version, _ in fio if of == arm]
        beside = sum(count for of, _, count in fio if of == arm)
        which = "each run" if beside >= runs else f"{beside} of {common.plural(runs, 'run')}"
        if versions:
            said.append(f"Beside {which}, {', '.join(versions)} read the same bytes in the same order{how}.")
    if probed:
        said.append(f"eBPF programs watched the block layer in {common.plural(probed, 'run')} and lost {lost:,} events.")
    return said


def ceiling_words(facts):
    return [f"Ceiling, {c.kind}: {common.digits(c.median / page.MIB)} MiB/s (median of {common.plural(c.rounds, 'round')}, "
            f"{common.digits(c.least / page.MIB)} to {common.digits(c.greatest / page.MIB)}), the data's own extents at depth "
            f"{c.depth}." for c in load.ceilings(facts)]


def dates(db, shown):
    marks = ", ".join("?" * len(shown.cells))
    first, last = load.rows(db, f"SELECT min(started_unix_ns), max(started_unix_ns) FROM good_run WHERE cell_id IN ({marks})",
                            [c.cell_id for c in shown.cells])[0]
    if first is None:
        return ""
    days = [datetime.datetime.fromtimestamp(ns / 1e9, datetime.timezone.utc).strftime("%Y-%m-%d") for ns in (first, last)]
    return f" on {days[0]}" if days[0] == days[1] else f" from {days[0]} to {days[1]}"


def commands_of(everything):
    """How often one was started; a command of several disks has a session in the experiment of each."""
    most = collections.Counter()
    for commands in {number: commands for f in everything for number, commands in f.sessions}.values():
        most |= collections.Counter(commands)
    return most.total()


def methods_words(db, shown):
    cells, facts = shown.cells, shown.facts
    same, varied = settings_of(cells)
    everything = (facts, *facts.others)
    programs = dict.fromkeys(f"{f.host['tool_version']} (revision {f.host['git_revision']})" for f in everything)
    yield (f"Measured with blksweep {', '.join(programs)} on "
           f"{'; '.join(dict.fromkeys(node_words(f) for f in everything))}{dates(db, shown)}.")
    if shown.rig:
        yield f"Controls of the rig: {'; '.join(shown.rig)}."
    if shown.data:
        yield f"An epoch: {shown.data['samples']} samples, {shown.data['bytes']} bytes."
    for f, (_, of_disk) in zip(everything, load.by_disk(cells)):
        yield f"Disk: {disk_words(f, of_disk)}."
    yield cache_words(cells)
    if varied:
        yield f"Varied: {', '.join(varied)} ({common.plural(len(cells), 'cell')})."
    rest = [f"{name} {value}" for name, value in same.items() if name != "cache" and value not in ("", "none", "-")]
    if rest:
        yield f"In all cells: {', '.join(rest)}."
    yield (f"In every round each cell had its turn once, in an order drawn anew ({counted(cells)} runs a cell count, "
           f"{facts.counted} in all, {common.plural(commands_of(everything), 'command')}).")
    yield statistic(cells, facts)
    for f in everything:
        yield from ceiling_words(f)
    yield from others_words(db, cells)
    yield left_out(facts)


def methods_tex(db, shown):
    lines = [tex.escape(sentence) for sentence in methods_words(db, shown) if sentence]
    return "% What was measured, on what and how; every fact is the database's.\n" + "\n".join(lines) + "\n"


SAMPLE = r"""%% A sample that inputs everything of this folder: pdflatex paper.tex (twice, for references).
%% Copy what you need into your own document; a new 'blksweep paper' does not write over a file that you edited.
\documentclass[10pt,twocolumn]{article}
\usepackage[letterpaper,margin=0.75in,columnsep=0.3in]{geometry}
\usepackage{booktabs,tabularx,graphicx,pgf}
\input{numbers}
\input{captions}
\setlength\emergencystretch{3em}
\renewcommand\topfraction{.95}\renewcommand\dbltopfraction{.95}\renewcommand\textfraction{.05}
\renewcommand\floatpagefraction{.6}\renewcommand\dblfloatpagefraction{.6}
\setcounter{topnumber}{5}\setcounter{dbltopnumber}{5}\setcounter{totalnumber}{8}
\makeatletter\setlength\@fptop{0pt}\setlength\@dblfptop{0pt}\makeatother
\title{%(title)s}
\author{blksweep}
\date{}
\begin{document}
\maketitle
\section*{Method}
\input{methods}
\section*{Results}
%(sentences)s
%(floats)s
\end{document}
"""


def sentences(shown):
    """A sentence for each comparison, every number by its name."""
    said = [r"\blkfact{runs} runs of \blkfact{cells} cells are counted, \blkfact{left-out} left out."]
    baselines = {c.disk: c for c in shown.cells if c.baseline}
    for c in shown.cells:
        key, base = shown.keys[c.cell_id], baselines.get(c.disk)
        if c.baseline or base is None or not shown.of(c, "ratio"):
            continue
        ends = rf" (95\,\% interval \blk{{{key}}}{{ratio-interval}})" if shown.of(c, "ratio_low") else ""
        said.append(rf"\emph{{\blk{{{key}}}{{label}}}} delivers \blk{{{key}}}{{samples-per-s}} samples/s, "
                    rf"\blk{{{key}}}{{ratio}} times those of \emph{{\blk{{{shown.keys[base.cell_id]}}}{{label}}}}{ends}.")
    return "\n".join(said)


def float_of(kind, wide, body, caption):
    name = f"{kind}*" if wide else kind
    words = [rf"\caption{{\blkcaption{{{caption}}}}}"]
    parts = [*words, body] if kind == "table" else [body, *words]
    return "\n".join([rf"\begin{{{name}}}[tp]\centering\small", *parts, rf"\end{{{name}}}"])


def floats(drawn, tables):
    out = []
    for name in tables:
        wide = tables[name].count("multicolumn{1}") > 3
        out.append(float_of("table", wide, rf"\footnotesize\input{{tables/{name}}}", name))
    out.append("\\clearpage")
    out += [float_of("figure", False, rf"\input{{figures/{name}-column.pgf}}", name)
            for name, widths, _ in drawn if "column" in widths]
    out.append("\\clearpage")
    out += [float_of("figure", True, rf"\includegraphics{{figures/{name}-page.pdf}}", name)
            for name, widths, _ in drawn if "page" in widths]
    # LaTeX keeps a limited number of floats until there is a page for them.
    return "\n".join(text + ("\n\\clearpage" if at % 12 == 11 else "") for at, text in enumerate(out))


def sample_tex(shown, drawn, tables):
    title = rf"{tex.escape(disks(shown.facts)[:-1])}"
    return SAMPLE % {"title": title, "sentences": sentences(shown), "floats": floats(drawn, tables)}


README = """# What is what

Made by `blksweep paper` {version} (revision {revision}){options}; the same database gives the same bytes.

| | |
| --- | --- |
| `numbers.tex` | every number by name: `\\blk{{{key}}}{{samples-per-s}}`; `\\input` it first |
| `captions.tex` | `\\blkcaption{{NAME}}` of each figure and table |
| `methods.tex` | the paragraph on kernel, device, caches, n and statistic |
| `tables/` | {tables} (`\\usepackage{{booktabs,tabularx}}`) |
| `figures/` | {figures}: `-column` (3.35 in) and `-page` (7 in), `.pdf`, and `.pgf` in your document's font (`\\usepackage{{pgf}}`) |
| `paper.tex` | a sample that inputs all of it: `pdflatex paper.tex` |
{rig}| `data/` | `cells.csv`, `runs.csv` and `cells.txt` behind them{sql}; the experiment files |
| `rerun.sh` | the same experiment again, or everything here again from `data/`: `./rerun.sh --help` |
| `SHA256SUMS` | of all of it: `sha256sum -c SHA256SUMS` |

Cells and their names in LaTeX:

| cell | name |
| --- | --- |
{cells}
"""


def readme(shown, drawn, tables, frozen, arguments):
    host = shown.facts.host

    def plain(text):
        return load.cut(text).replace("|", "/").replace("`", "'")
    return README.format(
        version=plain(host["tool_version"]), revision=plain(host["git_revision"]),
        options=f" with `{plain(' '.join(arguments))}`" if arguments else "", key=shown.keys[shown.cells[0].cell_id],
        tables=", ".join(f"`{t}.tex`" for t in tables), figures=", ".join(f"`{n}`" for n, *_ in drawn) or "none",
        rig="| `rig.txt` | what controls said of the rig: read it first |\n" if shown.rig else "",
        sql="; `results.sql`, the database: `sqlite3 results.db <data/results.sql`" if frozen else
        "; the database is too large to be kept here: keep it yourself",
        cells="\n".join(f"| {plain(c.label)} | `{shown.keys[c.cell_id]}` |" for c in shown.cells))
