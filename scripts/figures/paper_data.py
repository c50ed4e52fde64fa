"""The data behind a paper, frozen, and the script that measures it again."""
import dataclasses
import pathlib
import re
import shlex
import sqlite3
import tomllib

import load

LARGEST_DATABASE = 256 << 20  # bytes; as SQL it is twice that, which nobody wants in a paper's repository
SESSIONS_QUERY = ("SELECT experiment_id, argv, directory, data_root, catalog, spec_name, spec FROM session "
                  "WHERE experiment_id IN ({}) ORDER BY session_id")
LONGEST_COMMAND = 1 << 20


@dataclasses.dataclass(frozen=True)
class Session:
    experiment: int
    words: tuple   # of the command line
    directory: str
    data_root: str
    catalog: str   # "": the folder was scanned
    spec_name: str
    spec: str

    @property
    def makes_its_data(self):
        """Its spec says which disks and data sets there are, and where they are is its own affair."""
        try:
            tables = tomllib.loads(self.spec)
        except tomllib.TOMLDecodeError:  # of a database that somebody made by hand
            return False
        return any(isinstance(tables.get(name), list) for name in ("disk", "data"))


def dump(path, out):
    """The database as SQL text that makes the same one, and so the same text again."""
    uri = pathlib.Path(path).resolve().as_uri() + "?mode=ro"
    db = sqlite3.connect(uri, uri=True)
    db.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    try:
        with open(out, "w", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            for pragma in ("application_id", "user_version"):
                file.write(f"PRAGMA {pragma} = {db.execute(f'PRAGMA {pragma}').fetchone()[0]};\n")
            for statement in db.iterdump():
                file.write(statement + "\n")
    finally:
        db.close()


def freeze(db, output):
    """Moves the CSV files into data/ and adds the database as SQL; whether it did."""
    data = output / "data"
    data.mkdir(exist_ok=True)
    for name in ("cells.csv", "runs.csv"):
        (output / name).rename(data / name)
    if pathlib.Path(db).stat().st_size > LARGEST_DATABASE:
        return False
    dump(db, data / "results.sql")
    return True


def sessions(db, experiments):
    """Each different command once, in their order."""
    marks = ", ".join("?" * len(experiments))
    # Commands and specs as they are: a line break in one has a meaning.
    with load.connect(db) as connection:
        connection.text_factory = lambda raw: raw[:LONGEST_COMMAND].decode("utf-8", "replace")
        rows = connection.execute(SESSIONS_QUERY.format(marks), experiments).fetchall()
    found = {}
    for experiment, argv, *rest in rows:
        try:
            words = tuple(shlex.split(argv)) or ("",)
        except ValueError:  # of a database that somebody made by hand
            words = tuple(argv.split()) or ("",)
        verb = next((at for at, word in enumerate(words[1:], 1) if not word.startswith("-")), 0)  # --quiet before it
        words = (words[0], *words[verb:])
        if words[1:2] == ("run",):
            found[Session(experiment, words, *(text or "" for text in rest))] = None
    return list(found)


def numbers_again(db, sessions_, experiments):
    """The numbers that these will have in the new database, and how many it will hold: a command makes all sites of its
    spec, whichever of them are shown."""
    with load.connect(db) as connection:
        labels = dict(connection.execute("SELECT experiment_id, coalesce(label, '') FROM experiment LEFT JOIN disk USING (experiment_id)"))
    every, names, made = sessions(db, sorted(labels)), specs(sessions_), {}
    of = {}
    for text in dict.fromkeys(command(s, sessions_, names) for s in sessions_):
        one = next(s for s in sessions_ if command(s, sessions_, names) == text)
        for site in every:
            same = dataclasses.replace(site, experiment=0, data_root="") == dataclasses.replace(one, experiment=0, data_root="")
            if site in sessions_ and command(site, sessions_, names) == text or one.makes_its_data and same:
                of[site.experiment] = made.setdefault((text, labels[site.experiment]), len(made) + 1)
    return sorted({of[e] for e in experiments if e in of}), len(made)


def specs(sessions_):
    """{text: file name}"""
    texts = dict.fromkeys(s.spec for s in sessions_ if s.spec)
    return {text: f"spec-{number}.toml" for number, text in enumerate(texts, 1)}


def write_specs(sessions_, folder):
    for text, name in specs(sessions_).items():
        (folder / name).write_text(text, encoding="utf-8")


def cells_txt(cells):
    """A line for each cell of the table: its label and all its settings."""
    return "".join(f"{c.label}: {' '.join(f'{name}={value}' for name, value in c.settings.items())}\n" for c in cells)


def roots(sessions_):
    """{folder of a data set: its number}"""
    named = dict.fromkeys(s.data_root for s in sessions_ if not s.makes_its_data)
    return {root: number for number, root in enumerate(named, 1)}


def catalogs(sessions_):
    return {file: number for number, file in enumerate(dict.fromkeys(s.catalog for s in sessions_ if s.catalog), 1)}


def words_again(session, names):
    """The words after `run`, quoted; the experiment file is the one that is kept here."""
    return " ".join(f'"$here/data/{names[session.spec]}"' if session.spec and word == session.spec_name
                    else shlex.quote(word) for word in session.words[2:])


def source_again(session, sessions_):
    return '--catalog "$file"' if session.catalog else f'--data "$DATA_{roots(sessions_)[session.data_root]}"'


RERUN = r"""#!/usr/bin/env bash
# The experiment of this folder again: the same commands on the same data into a database of its own, and a paper
# of it; says whether its table has the same cells.
#
# usage: ./rerun.sh [--to DIR]           measure again; results go to DIR (rerun beside this script)
#        ./rerun.sh --frozen [--to DIR]  measure nothing: tables, numbers and figures again from data/results.sql
# needs: blksweep, revision @REVISION@ for the same numbers: $BLKSWEEP, else build/blksweep in the
#        current folder, else blksweep in PATH; sqlite3 for --frozen
# data:  @SAMPLES@ samples, @BYTES@ bytes, below these folders (of another place: set the variable)
@NEEDS@# exit:  0 the same cells (--frozen: the same bytes), 1 not
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
revision=@QREVISION@
to=$here/rerun
frozen=
arguments=(@ARGUMENTS@)
die() { echo "rerun: $*" >&2; exit 1; }
note() { echo "rerun: $*" >&2; }

while [ $# -gt 0 ]; do
  case $1 in
    --frozen) frozen=1 ;;
    --to) [ $# -gt 1 ] || die '--to needs a folder'; to=$2; shift ;;
    --help | -h) sed -n '2,/^# exit/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit ;;
    *) die "no option $1 (--help)" ;;
  esac
  shift
done

find_blksweep() {
  local found
  for found in "${BLKSWEEP:-}" build/blksweep "$(command -v blksweep || true)"; do
    if [ -n "$found" ] && [ -x "$found" ]; then realpath "$found"; return; fi
  done
  die 'no blksweep: build it (make) and start this from its folder, or set BLKSWEEP'
}
blksweep=$(find_blksweep)
version=$("$blksweep" --version)
case $version in
  *"($revision)"*) ;;
  *) note "warning: this is blksweep $version, the results are of revision $revision: other numbers may have this reason" ;;
esac
to=$(realpath -m "$to")
[ ! -e "$to" ] || die "$to is there already: name another folder with --to"
mkdir -p "$to"

if [ -n "$frozen" ]; then
  [ -e "$here/data/results.sql" ] || die 'data/results.sql is not kept here: the database was too large'
  sqlite3 "$to/results.db" <"$here/data/results.sql"
  "$blksweep" --quiet paper "$to/results.db" -o "$to/paper" "${arguments[@]}"
  status=0
  (cd "$to/paper" && sha256sum --quiet -c "$here/SHA256SUMS") || status=1
  [ "$status" = 0 ] && note "all files are the same, byte for byte" ||
    note "not all files are the same (figures depend on the version of matplotlib, too): compare $to/paper"
  exit "$status"
fi

@VARIABLES@
data_there() { [ -e "$1" ] || die "no data at $1: $2=FOLDER names another place (--help)"; }
# catalog FILE FOLDER NUMBER: the file where it is, else the folder scanned anew.
catalog() {
  if [ -e "$1" ]; then echo "$1"; return; fi
  data_there "$2" "DATA_$3"
  note "no catalog at $1: scanning $2"
  "$blksweep" --quiet catalog "$2" -o "$to/data-$3.cat" >/dev/null
  echo "$to/data-$3.cat"
}
# measured COMMAND...: 3 is done but incomplete
measured() {
  local status=0
  note "running: ${*@Q}"
  "$@" --db "$to/results.db" >>"$to/output.txt" || status=$?
  case $status in 0) ;; 3) note 'a run is incomplete; it is left out' ;; *) die "the run failed with status $status" ;; esac
}

@COMMANDS@
"$blksweep" --quiet paper "$to/results.db" -o "$to/paper" "${again[@]}"
if diff "$here/data/cells.txt" "$to/paper/data/cells.txt"; then
  note "the table has the same $(wc -l <"$here/data/cells.txt") cells; new numbers: $to/paper/tables, $to/paper/data/cells.csv"
else
  die 'the table has other cells (< here, > again)'
fi
"""


def again_arguments(told, numbers, made):
    """The options of `paper` for the new database, in which these are the experiments `numbers` of so many."""
    words = list(told["arguments"])
    if "--experiment" in words:
        at = words.index("--experiment")
        words[at:at + 2] = []
    if made <= 1 and len(numbers) <= 1:
        return words
    return ["--experiment", "all" if len(numbers) == made else ",".join(map(str, numbers)), *words]


def go_to(session):
    return f"cd {shlex.quote(session.directory)} 2>/dev/null || true\n" if session.directory else ""


def command(session, sessions_, names):
    if session.makes_its_data:
        return (f"{go_to(session)}measured \"$blksweep\" run {words_again(session, names)} "
                "--workdir \"$WORKDIR\" --report ''\n")
    number = roots(sessions_)[session.data_root]
    check = f'data_there "$DATA_{number}" DATA_{number}\n'
    if session.catalog:  # an assignment: its failure ends the script
        check = f'file=$(catalog "$CATALOG_{catalogs(sessions_)[session.catalog]}" "$DATA_{number}" {number})\n'
    return (f"{go_to(session)}{check}measured \"$blksweep\" run {words_again(session, names)} "
            f"{source_again(session, sessions_)}\n")


def variables(sessions_):
    lines = [f"DATA_{n}=${{DATA_{n}:-{quoted(root)}}}" for root, n in roots(sessions_).items()]
    lines += [f"CATALOG_{n}=${{CATALOG_{n}:-{quoted(file)}}}" for file, n in catalogs(sessions_).items()]
    lines += ["WORKDIR=${WORKDIR:-$to/work}"] if any(s.makes_its_data for s in sessions_) else []
    return lines


def quoted(text):
    """For the default of a variable: quotes of a shell do not nest there, so it is a word of its own."""
    return shlex.quote(text) if text else "''"


def comment(text):
    return load.cut(text)


def needs(sessions_):
    lines = [f"#        DATA_{n}: {comment(root) or 'unknown'}\n" for root, n in roots(sessions_).items()]
    lines += [f"#        CATALOG_{n}: {comment(file)} (scanned anew where it is not)\n"
              for file, n in catalogs(sessions_).items()]
    lines += ["#        WORKDIR: where disks and data sets of the spec are made, $to/work\n"] * any(
        s.makes_its_data for s in sessions_)
    return "".join(lines)


def rerun_sh(shown, sessions_, told, numbers, made):
    host, names = shown.facts.host, specs(sessions_)
    # Each site of a spec is an experiment of one and the same command.
    commands = "".join(dict.fromkeys(command(s, sessions_, names) for s in sessions_))
    commands = commands or "die 'the database names no command'\n"
    again = " ".join(shlex.quote(w) for w in again_arguments(told, numbers, made))
    parts = {
        "@REVISION@": comment(host["git_revision"]), "@QREVISION@": shlex.quote(host["git_revision"]),
        "@SAMPLES@": shown.data.get("samples", "unknown"), "@BYTES@": shown.data.get("bytes", "unknown"),
        "@NEEDS@": needs(sessions_), "@ARGUMENTS@": " ".join(shlex.quote(w) for w in told["arguments"]),
        "@VARIABLES@": "\n".join(variables(sessions_)), "@COMMANDS@": f"again=({again})\n{commands}",
    }
    # At one go: what was put in is not looked at again, whatever its text.
    return re.sub("|".join(parts), lambda mark: parts[mark.group()], RERUN)
