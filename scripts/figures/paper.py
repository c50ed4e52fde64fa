#!/usr/bin/env python3
"""Figures, tables, numbers and frozen data for a LaTeX document; called by `blksweep paper DB -o DIR`.

Reads DIR/cells.csv, runs.csv and numbers.json (the texts of the report's table, from C++) and the database.
Nothing here depends on the date or on LaTeX: the same database gives the same bytes (docs/paper.md).
"""
import argparse
import dataclasses
import hashlib
import json
import pathlib
import sys
import tempfile
import traceback

import common
import fonts
import load
import paper_data
import paper_tables
import paper_words
import report
import style

SUMS = "SHA256SUMS"
WIDTHS = {"column": style.SINGLE, "page": style.DOUBLE}


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def earlier(folder):
    """{name: SHA-256} of what an earlier call left in `folder`; names that lead out of it are nobody's."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return {}
    found = dict(reversed(line.split("  ", 1)) for line in lines if "  " in line)
    return {name: digest for name, digest in found.items()
            if not name.startswith("/") and ".." not in pathlib.PurePath(name).parts}


def refuse_edited(folder, known):
    """What somebody wrote into a file of ours is not written over."""
    for name, digest in known.items():
        path = folder / name
        if path.is_file() and sha256(path) != digest:
            raise load.Unwritten(f"{path} was changed by hand: move it away, or name another folder with -o")


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def name_gone(output, known):
    """NAME.none for each file of an earlier call that this one has not: whoever publishes takes it away."""
    stems = {pathlib.PurePath(name).with_suffix("") for name in files_below(output)}
    for name in known:
        stem = pathlib.PurePath(name).with_suffix("")
        if stem not in stems:
            mark = output / f"{stem}.none"
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()


def draw_one(db, wanted, folder, widths):
    """Draws one figure in each width; returns its caption."""
    name, title, module, cells = wanted
    text = ""
    for width in widths:
        style.use(dataclasses.replace(style.look, width=WIDTHS[width]))
        text = common.make(module, db, cells, folder / f"{name}-{width}", title)
    return text


def draw(db, cells, folder, widths):
    """[(name, {width}, caption)] of all figures that these runs have."""
    drawn = []
    for wanted in report.wanted(cells):
        try:
            text = draw_one(db, wanted, folder, widths)
        except load.NothingToDraw:
            continue
        except Exception as error:
            raise load.Unwritten(f"figure {wanted[0]}: {load.said(error)}") from error
        drawn.append((wanted[0], widths, text.splitlines()[0]))
    return drawn


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def make(args):
    output = args.output
    known = earlier(args.over)
    refuse_edited(args.over, known)
    told = json.loads((output / "numbers.json").read_text(encoding="utf-8"))
    (output / "numbers.json").unlink()
    cells = load.load_cells(output / "cells.csv")
    facts = load.load_facts(args.db, cells)
    numbers = {row["cell_id"]: row["numbers"] for row in told["cells"]}
    widths = list(WIDTHS) if args.width == "both" else [args.width]
    drawn = draw(args.db, cells, output / "figures", widths)
    shown = paper_tables.Shown(cells, facts, numbers, paper_words.data_set(args.db, cells), load.load_rig(output))
    tables = paper_tables.tables(shown)
    write(output / "numbers.tex", paper_tables.numbers_tex(shown))
    for name, text in tables.items():
        write(output / f"tables/{name}.tex", text)
    write(output / "captions.tex", paper_words.captions_tex(shown, drawn, tables))
    write(output / "methods.tex", paper_words.methods_tex(args.db, shown))
    frozen = paper_data.freeze(args.db, output)
    sessions = paper_data.sessions(args.db, told["experiments"])
    write(output / "data/cells.txt", paper_data.cells_txt(cells))
    paper_data.write_specs(sessions, output / "data")
    write(output / "rerun.sh", paper_data.rerun_sh(
        shown, sessions, told, *paper_data.numbers_again(args.db, sessions, told["experiments"])))
    (output / "rerun.sh").chmod(0o755)
    write(output / "paper.tex", paper_words.sample_tex(shown, drawn, tables))
    write(output / "README.md", paper_words.readme(shown, drawn, tables, frozen, told["arguments"]))
    sums = "".join(f"{sha256(output / name)}  {name}\n" for name in files_below(output))
    write(output / SUMS, sums)
    name_gone(output, known)


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("db", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True,
                        help="folder that holds cells.csv, runs.csv and numbers.json")
    parser.add_argument("--over", type=pathlib.Path, required=True, help="where it goes: what was edited there stays")
    parser.add_argument("--width", choices=[*WIDTHS, "both"], default="both")
    parser.add_argument("--font", choices=["cm", "times"], default="cm")
    report.add_look(parser)
    args = parser.parse_args(argv)
    try:
        with tempfile.TemporaryDirectory() as folder:
            style.use(style.Look(formats=(".pdf", ".pgf"), footer=False, titled=args.title == "on", axis=args.axis,
                                 settings=fonts.settings(args.font, folder)))
            make(args)
    except Exception as error:  # of the lines, blksweep shows the last
        traceback.print_exc()
        print(load.said(error) if isinstance(error, load.Unwritten) else f"{args.db}: {load.said(error)}",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
