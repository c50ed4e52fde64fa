"""How epochs of ranks scale with the number of ranks, of a results database."""
import json
import pathlib
import statistics

import load

NAMES = ("ranks_id", "key", "split", "barrier", "read_order", "merge", "shuffle", "window_scope", "ranks", "nodes", "complete", "fault",
         "samples_per_s", "batch_ns", "bytes", "storage_bytes", "hostname", "kernel", "tool_version", "git_revision")
OF_DATA = ("data_bytes", "page_bytes", "warnings")  # in the answer; NULL in one of before there were any
COLUMNS = [*NAMES, *(f"json_extract(document, '$.{name}')" for name in OF_DATA)]
RANKS_QUERY = f"SELECT {', '.join(COLUMNS)} FROM ranks ORDER BY ranks_id"
MOST_LINES = 6
ALIKE = 0.1  # of what caches had
WHERE = ("hostname", "kernel", "git_revision")  # of rank 0: other machines and programs are not compared
KEYS_QUERY = "SELECT ranks_id, key FROM ranks"
LONGEST_KEY = 1 << 20  # with the disk and its queue: one that was cut would be that of other settings, too
SAID = ("split", "barrier", "order", "merge", "shuffle", "window_scope")  # of each row, by label()


def everything(db):
    """All of them, oldest first; empty for a database of before there were any."""
    if not load.rows(db, "SELECT 1 FROM sqlite_master WHERE name = 'ranks'"):
        return []
    found = [dict(zip(NAMES + OF_DATA, row)) for row in load.rows(db, RANKS_QUERY, longest=load.LONGEST_ON_PAGE)]
    keys = dict(load.rows(db, KEYS_QUERY, longest=LONGEST_KEY))
    return set_apart([{**row, "key": keys[row["ranks_id"]]} for row in found])


def asked_for(row):
    """{setting: value} of a row's key; empty where it is none."""
    try:
        key = json.loads(row["key"])
    except ValueError:
        return {}
    return key if isinstance(key, dict) else {}


def set_apart(found):
    """The rows with `apart`: "batch 16, disk 2", the settings that not all have alike (as src/cli/report/ranks.cpp)."""
    keys = [asked_for(row) for row in found]
    names = [name for name in dict.fromkeys(n for key in keys for n in key)
             if name not in SAID and any(key.get(name) != keys[0].get(name) for key in keys)]

    def word(name, value):
        if isinstance(value, dict):  # what has parts of its own is numbered
            distinct = list({json.dumps(key.get(name)): None for key in keys})
            value = distinct.index(json.dumps(value)) + 1
        return f"{name.replace('_', ' ')} {value if isinstance(value, str) else json.dumps(value)}"
    return [{**row, "apart": ", ".join(word(name, key.get(name)) for name in names)} for row, key in zip(found, keys)]


def label(row):
    parts = [row["split"], row["read_order"]]
    parts += [row["merge"]] if row["merge"] != "none" else []
    per_rank = " per rank" if row["window_scope"] == "rank" else ""
    parts += [row["shuffle"] + per_rank] if row["shuffle"] != "none" else []
    parts += [f"barrier {row['barrier']}"] if row["barrier"] != "none" else []
    parts += [row["apart"]] if row.get("apart") else []
    return ", ".join(parts)


def cached(row):
    """What caches had of the pages of what came; None: the kernel does not tell."""
    if row["storage_bytes"] is None or not row["bytes"]:
        return None
    pages_per_byte = row["page_bytes"] / row["data_bytes"] if row["page_bytes"] and row["data_bytes"] else 1
    return max(0, 1 - row["storage_bytes"] / (row["bytes"] * pages_per_byte))


def fed_alike(share, other):
    """As src/cli/report/ranks.cpp: ranks that caches feed are no better for it."""
    return share == other if share is None or other is None else abs(share - other) <= ALIKE


def warned(row):
    """What a line's epochs were warned of: times under a quota, on a shared disk or of other files are not those of others."""
    said = row["warnings"] or "[]"
    return "" if said == "[]" else ", held by a CPU quota" if "CPU quota" in said else ", with a warning"


def line_of(row, of_key):
    """Of the lines of a key, (what caches had, line), the one that was fed as the row; a new one where there is none."""
    share = cached(row)
    for fed, line in of_key:
        if fed_alike(fed, share):
            return line
    line = (label(row) + (f", {share:.0%} from caches" if share and share >= 0.005 else "") + warned(row), {})
    of_key.append((share, line))
    return line


def lines(found):
    """[(label, {ranks: {column: [values]}})] of complete ones, by settings; those with several numbers of ranks."""
    by_key = {}
    for row in found:
        if row["complete"] and row["samples_per_s"] > 0:
            of_key = by_key.setdefault((row["key"], warned(row), *(row[n] for n in WHERE)), [])
            values = line_of(row, of_key)[1].setdefault(row["ranks"], {"samples_per_s": [], "batch_ns": []})
            for name, all_values in values.items():
                all_values.append(row[name])
    return [line for of_key in by_key.values() for _, line in of_key if len(line[1]) > 1][-MOST_LINES:]


def efficiencies(points):
    """{ranks: efficiency} against one rank; empty without."""
    if 1 not in points:
        return {}
    one = statistics.median(points[1]["samples_per_s"])
    return {n: statistics.median(of["samples_per_s"]) / (n * one) for n, of in points.items()}


def draw(found):
    import style
    shown = lines(found)
    if not shown:
        raise load.NothingToDraw("no settings were read by different numbers of ranks")
    fig, axes = style.grid(2, 1.9, shared=False)
    counts = sorted({n for _, points in shown for n in points})
    handles = []
    for (name, points), colour, mark in zip(shown, style.PALETTE, "osD^vP"):
        numbers = sorted(points)
        for ax, column, unit in ((axes[0], "samples_per_s", 1e3), (axes[1], "batch_ns", 1e6)):
            middle = [statistics.median(points[n][column]) / unit for n in numbers]
            spread = [[m - min(points[n][column]) / unit for n, m in zip(numbers, middle)],
                      [max(points[n][column]) / unit - m for n, m in zip(numbers, middle)]]
            handle = ax.errorbar(numbers, middle, spread, color=colour, marker=mark, markersize=3.5, linewidth=1.0, capsize=2,
                                 label=name)
        handles.append(handle)
        if 1 in points and points is shown[0][1]:
            one = statistics.median(points[1]["samples_per_s"]) / 1e3
            axes[0].plot(counts, [one * n for n in counts], color=style.GREY, linestyle=":", linewidth=0.9)
    axes[0].set_ylabel("samples/s (thousands)")
    axes[1].set_ylabel("time per batch (ms)")
    for ax in axes:
        ax.set_xlabel("ranks")
        ax.set_xticks(counts)
        style.from_zero([ax])
    style.legend_above(fig, handles)
    return fig


def describe(found):
    shown = lines(found)
    words = []
    for name, points in shown:
        by_ranks = efficiencies(points) if not name.startswith("copy,") else {}  # as the table has it: all read all
        words += [f"{name}: " + ", ".join(f"{by_ranks[n]:.2f} with {n}" for n in sorted(by_ranks) if n > 1)] if by_ranks else []
    repeats = sorted({len(of["samples_per_s"]) for _, points in shown for of in points.values()})
    return ("Epochs by number of ranks: median and range of complete ones (n="
            f"{'-'.join(dict.fromkeys(str(n) for n in (repeats[0], repeats[-1])))}); dotted: the first one's single rank times the "
            "number of ranks." + (" Efficiency: " + "; ".join(words) + "." if words else ""))


def make(db, stem):
    """Draws the figure; returns its caption."""
    import style
    found = everything(db)
    fig = draw(found)
    style.frame(fig, "", "; ".join(dict.fromkeys(f"{r['hostname']}, {r['kernel']}" for r in found)))
    style.save(fig, stem)
    text = f"{describe(found)}\nquery: {RANKS_QUERY}\n"
    pathlib.Path(stem).with_suffix(".txt").write_text(text, encoding="utf-8")
    return text
