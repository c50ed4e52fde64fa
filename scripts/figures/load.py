"""Reads a results database and the cells.csv that `blksweep report` wrote; no matplotlib here.

Medians, ratios, their intervals and verdicts come from cells.csv (C++, src/stats/paired.h), raw points
from the database, so that there is one implementation of the statistics. Unknown is None, never 0.
"""
import contextlib
import csv
import dataclasses
import pathlib
import sqlite3
import statistics
import sys

import numpy

LONGEST = 200            # characters of a text: figures hold labels of that length
LONGEST_ON_PAGE = 2000   # of a command, a warning or a reason, which only the page shows
MOST_RECORDS = 2_000_000  # of a series: half an hour at 1 kHz
PIECE = 1 << 20          # records read at a time
MOST_NS = 2**63 - 1
csv.field_size_limit(sys.maxsize)  # SQLite bounds texts; load_cells cuts them


class NothingToDraw(Exception):
    """The database has no data for this figure; the text says why."""


class NotApplicable(NothingToDraw):
    """The figure is about something that these runs do not have: a page need not mention it."""


DIFFERENT = ("faster", "slower")


@dataclasses.dataclass(frozen=True)
class Cell:
    cell_id: int
    label: str
    baseline: bool
    runs: int
    values: dict  # further columns of cells.csv: float or None
    settings: dict
    verdict: str = ""  # "faster", "slower", "not shown"; "": the baseline, or too few pairs
    ratio_to: str = ""  # the baseline's label; "": there is no ratio
    fio_verdict: str = ""  # the same of the cell and its fio twin

    @property
    def differs(self):
        return self.verdict in DIFFERENT

    @property
    def disk(self):
        """Which of several disks; "" when there is one."""
        return self.settings.get("disk", "")

    @property
    def label_on_disk(self):
        return self.label.removeprefix(self.disk + " + ") if self.disk else self.label

    def value(self, name):
        return self.values.get(name)

    def interval(self, name):
        """(low, high) of 95 %, or None when there are too few pairs for one."""
        low, high = self.values.get(name + "_low"), self.values.get(name + "_high")
        return None if low is None or high is None else (low, high)


@dataclasses.dataclass(frozen=True)
class Facts:
    host: dict
    queue: list
    ceilings: list  # (kind, request_bytes, depth, bytes_per_s, reads_per_s, samples_per_byte, round)
    counted: int    # runs that figures draw
    left_out: list  # (label, repeat, reason)
    layers: tuple = ()  # (disk, name, value) of the device and what it stands on, top down
    label: str = ""  # what somebody called the disk
    sessions: tuple = ()  # of each experiment: (number, [command of each session])
    others: tuple = ()  # the same of each further disk that the cells are on
    stopping: tuple = ()  # of --repeats auto: (precision, rounds, intervals, reached, half_width, widest, reason)


def cut(text, longest=LONGEST):
    """One line of bounded length: a stranger's text of megabytes or many lines would break every figure."""
    line = "".join(c if c.isprintable() else " " for c in text[:longest + 1])
    return line if len(line) <= longest else line[:longest - 1] + "…"


class Unwritten(Exception):
    """Names what could not be drawn or written, and why."""


def said(error):
    """In one line; a KeyError alone would be no more than the key."""
    if isinstance(error, Unwritten):
        return cut(str(error))
    if isinstance(error, OSError) and error.strerror:
        return cut(": ".join(filter(None, (str(error.filename or ""), error.strerror))))
    return cut(f"{type(error).__name__}: {error}")


def connect(path, longest=LONGEST):
    """Read-only: a figure never creates or changes a database. All texts come cut."""
    uri = pathlib.Path(path).resolve().as_uri() + "?mode=ro"
    db = sqlite3.connect(uri, uri=True)
    # A character has four bytes at most; the rest of a long text need not be decoded.
    db.text_factory = lambda raw: cut(raw[:4 * (longest + 1)].decode("utf-8", "replace"), longest)
    return contextlib.closing(db)


def rows(path, query, parameters=(), longest=LONGEST):
    with connect(path, longest) as db:
        return db.execute(query, parameters).fetchall()


def number(text):
    if text == "":
        return None
    try:
        return float(text)
    except ValueError:
        return None


def load_cells(path):
    """The cells to draw, in the order of the table."""
    cells = []
    with open(path, newline="", encoding="utf-8", errors="replace") as lines:
        for fields in csv.DictReader(lines):
            row = {cut(name): cut(field) for name, field in fields.items()}
            settings = {k[len("setting_"):]: v for k, v in row.items() if k.startswith("setting_")}
            values = {k: number(v) for k, v in row.items() if not k.startswith("setting_")}
            cells.append(Cell(int(row["cell_id"]), row["label"], row["baseline"] == "1",
                              int(row["runs"]), values, settings, row.get("verdict", ""),
                              row.get("ratio_to", ""), row.get("fio_verdict", "")))
    return cells


def load_rig(folder):
    """What controls and the noise watch say, line by line, the weightiest first; () without controls."""
    path = pathlib.Path(folder) / "rig.txt"
    if not path.exists():
        return ()
    return tuple(cut(line, LONGEST_ON_PAGE) for line in path.read_text(encoding="utf-8", errors="replace").splitlines())


FACTS_QUERY = ("SELECT e.* FROM experiment e JOIN cell c USING (experiment_id) WHERE c.cell_id = ?")
LEFT_OUT_QUERY = ("SELECT cell_id, repeat, incomplete_reason FROM run WHERE incomplete = 1 "
                  "ORDER BY run_id")
COUNTED_QUERY = "SELECT cell_id, count(*) FROM good_run GROUP BY cell_id"


def by_disk(cells):
    """[(disk, its cells)] in the order of the table; one disk has the name ""."""
    found = {}
    for c in cells:
        found.setdefault(c.disk, []).append(c)
    return list(found.items())


STOPPING_QUERY = ("SELECT precision, rounds, intervals, reached, half_width, widest, reason FROM stopping "
                  "JOIN session USING (session_id) WHERE experiment_id = ? ORDER BY session_id DESC LIMIT 1")


def load_facts(path, cells):
    """Of the first disk that the cells are on, with those of the other disks in `others`."""
    if not cells:
        raise NothingToDraw("no cell")
    first, *others = [disk_facts(path, of_disk) for _, of_disk in by_disk(cells)]
    everything = [first, *others]
    return dataclasses.replace(first, counted=sum(f.counted for f in everything),
                               left_out=[row for f in everything for row in f.left_out],
                               others=tuple(others))


CEILING_QUERY = ("SELECT kind, request_bytes, depth, bytes_per_s, reads_per_s, samples_per_byte, "
                 "experiment_id || '/' || round FROM ceiling WHERE experiment_id = ? ORDER BY round, rowid")


def experiments_of(db, cells):
    """Of all that share the name of a disk, in the order of the cells."""
    of_cell = dict(db.execute("SELECT cell_id, experiment_id FROM cell"))
    return dict.fromkeys(of_cell[c.cell_id] for c in cells if c.cell_id in of_cell)


def disk_facts(path, cells):
    with connect(path) as db:
        cursor = db.execute(FACTS_QUERY, [cells[0].cell_id])
        row = cursor.fetchone()
        host = dict(zip([d[0] for d in cursor.description], row))
        experiment = [host["experiment_id"]]
        queue = db.execute("SELECT name, value FROM queue_setting WHERE experiment_id = ? "
                           "ORDER BY name", experiment).fetchall()
        label = db.execute("SELECT label FROM disk WHERE experiment_id = ?", experiment).fetchone()
        ceilings = [tuple(row) for e in experiments_of(db, cells) for row in db.execute(CEILING_QUERY, [e])]
        layers = db.execute("SELECT disk, name, value FROM layer_fact WHERE experiment_id = ? "
                            "ORDER BY position", experiment).fetchall()
        stopping = db.execute(STOPPING_QUERY, experiment).fetchone() or ()
        counted = dict(db.execute(COUNTED_QUERY).fetchall())
        labels = {c.cell_id: c.label for c in cells}
        left_out = [(labels[cell], repeat, reason or "incomplete")
                    for cell, repeat, reason in db.execute(LEFT_OUT_QUERY) if cell in labels]
    sessions = sessions_of(path, labels)
    return Facts(host, queue, ceilings, sum(counted.get(c.cell_id, 0) for c in cells), left_out,
                 tuple(layers), label[0] if label else "", sessions, stopping=stopping)


SESSIONS_QUERY = ("SELECT s.experiment_id, s.argv FROM session s JOIN cell c USING (experiment_id) "
                  "WHERE c.cell_id = ? ORDER BY s.session_id")


def sessions_of(path, cells):
    """((experiment, [commands, each once]), ...) of everything that the cells come from."""
    found = {}
    with connect(path, LONGEST_ON_PAGE) as db:
        for cell in cells:
            for experiment, argv in db.execute(SESSIONS_QUERY, [cell]):
                found.setdefault(experiment, {})[argv] = None  # a dict: looked up at once, in order
    return tuple((experiment, list(commands)) for experiment, commands in sorted(found.items()))


@dataclasses.dataclass(frozen=True)
class Ceiling:
    """One pattern of reads over the data set's own extents, over all rounds; rates in bytes/s."""
    kind: str
    request_bytes: int
    depth: int
    rounds: int
    median: float
    least: float
    greatest: float
    reads_per_s: float  # median
    samples_per_byte: float | None  # bytes of samples that a byte read here stands for; None: not known


def ceilings(facts):
    """A Ceiling for each pattern, in the order of their first measurement: of its depths, that with the best median."""
    by_kind = {}
    for row in facts.ceilings:
        by_kind.setdefault(row[0], {}).setdefault(row[2], []).append(row)
    return [max((ceiling_of(rows_) for rows_ in by_depth.values()), key=lambda c: c.median)
            for by_depth in by_kind.values()]


def ceiling_of(rows_):
    """Of one pattern at one depth."""
    return Ceiling(rows_[0][0], max(r[1] for r in rows_), rows_[0][2], len({r[6] for r in rows_}),
                   statistics.median(r[3] for r in rows_), min(r[3] for r in rows_),
                   max(r[3] for r in rows_), statistics.median(r[4] for r in rows_),
                   rows_[0][5] if len({r[5] for r in rows_}) == 1 else None)


def sequential_ceiling(facts):
    """What percentages refer to, in bytes of samples, or None."""
    for c in ceilings(facts):
        if c.kind == "sequential" and c.samples_per_byte:
            rates = {name: getattr(c, name) * c.samples_per_byte for name in ("median", "least", "greatest")}
            return dataclasses.replace(c, **rates)
    return None


def points_by_cell(path, cells, query):
    """{cell_id: [value, ...]} of a query that gives (cell_id, value); NULL is left out."""
    wanted = {c.cell_id for c in cells}
    found = {}
    for cell, value in rows(path, query):
        if cell in wanted and value is not None:
            found.setdefault(cell, []).append(value)
    return found


RECORDS = {"depth": numpy.dtype([("at", "<i8"), ("driver", "<u4"), ("scheduler", "<u4")]),
           "issue": numpy.dtype([("at", "<i8"), ("sector", "<u8"), ("bytes", "<u4"), ("latency", "<i8"),
                                 ("read", "<u4"), ("batch", "<u4")]),
           "page_cache": numpy.dtype([("at", "<i8"), ("added", "<u8"), ("wanted", "<u8"), ("again", "<u8"),
                                      ("evicted", "<u8"), ("inodes_loaded", "<u8"), ("inodes_evicted", "<u8"),
                                      ("shrinker_freed", "<u8")])}


def packed(blob, record, most=MOST_RECORDS):
    """The records of an open blob, docs/results-schema.md; of more than `most` evenly chosen ones.

    Read piece by piece, because a blob may be as large as SQLite lets it be: 1 GB.
    """
    count = len(blob) // record.itemsize
    step = max(1, -(-count // most))
    piece = -(-PIECE // step) * step  # so that the choice goes on evenly in the next one
    chosen = [numpy.frombuffer(blob.read(min(piece, count - at) * record.itemsize), record)[::step].copy()
              for at in range(0, count, piece)]
    return numpy.concatenate([numpy.empty(0, record), *chosen])


SERIES_QUERY = ("SELECT r.cell_id, r.begin_ns, r.epoch_ns, s.data, r.repeat FROM good_run r "
                "JOIN series s USING (run_id) WHERE s.kind = ? AND s.records > 0 "
                "ORDER BY r.cell_id, r.repeat")


def first_series(path, cells, kind):
    """Of each cell the first repeat that has the series: yields (cell_id, epoch_s, seconds, records).

    Records are kept from the beginning to the end of the epoch. One cell at a time: all would not fit.
    """
    missing = {c.cell_id for c in cells}
    with connect(path) as db:
        # Where the data is, and not the data: of most repeats it is not wanted.
        for cell, begin, epoch, row, _ in db.execute(SERIES_QUERY.replace("s.data", "s.rowid"), [kind]):
            if cell not in missing:
                continue
            with db.blobopen("series", "data", row, readonly=True) as blob:
                records = packed(blob, RECORDS[kind])
            records = records[(records["at"] >= begin) & (records["at"] <= min(begin + epoch, MOST_NS))]
            if len(records):
                missing.remove(cell)
                yield cell, epoch / 1e9, (records["at"] - begin) / 1e9, records
    if len(missing) == len({c.cell_id for c in cells}):
        raise NothingToDraw("no complete run has probe data (--probe needs root and BTF)")
