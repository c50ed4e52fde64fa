"""A page of experiments: of each its figure in a column's width, the caption, and what others reported.

The module of a figure has TITLE, REPORTED (what was reported elsewhere, to compare by shape), and beside what every
figure has (common.make) found(data, cells): what was seen here, in a sentence.
"""
import shutil

import common
import load
import style

HEAD = """# Experiments

Each is a spec in `scripts/experiments/`, or a script where a spec cannot say it, with a figure of its own in a column's width.
`make experiments` runs the quick form of all and writes this page into `build/experiments/`; `make experiments
ONLY=sort-window` runs one, and `FULL=1` the full form, which is for a node of its own and takes hours. What is there is not
measured again. What was reported elsewhere was on other disks and data: compare shapes.
"""


def entry(module, by, data, cells, facts, full):
    name = by.stem
    return f"""## {name}: {module.TITLE}

![{name}](experiments/{name}.png)

{module.describe(data, cells)} {common.where(facts)}

**Here:** {module.found(data, cells)}

**Reported elsewhere:** {module.REPORTED}

    make experiments ONLY={name}{" FULL=1" if full else ""}

[`{by.name}`](../scripts/experiments/{by.name})
"""


def few_colours(png):
    """A third of the size, for a page that is kept with the sources; matplotlib itself needs Pillow."""
    from PIL import Image
    with Image.open(png) as picture:
        flat = picture.convert("RGB").quantize(64)
    flat.save(png, optimize=True)


def make(module, by, db, folder, full):
    """figure.png, figure.pdf and entry.md in `folder`, of its cells.csv; `by` is the file that has measured it."""
    style.use(style.Look(width=style.SINGLE, formats=(".pdf", ".png"), footer=False,
                         settings={"savefig.dpi": 200}))
    cells = [c for c in load.load_cells(folder / "cells.csv") if c.runs > 0]
    if not cells:
        raise load.NothingToDraw("no complete run")
    facts = load.load_facts(db, cells)
    data = module.load(db, cells)
    fig = module.draw(data, cells, facts)
    style.frame(fig, "", "")
    style.save(fig, folder / "figure")
    few_colours(folder / "figure.png")
    (folder / "entry.md").write_text(entry(module, by, data, cells, facts, full), encoding="utf-8")


def page(out, names, publish, note=""):
    """Writes the page of all experiments that have an entry; its path. `note`: what holds for all its figures."""
    entries = [out / name for name in names if (out / name / "entry.md").exists()]
    text = HEAD + (f"\n{note}\n" if note else "") + "".join("\n" + (e / "entry.md").read_text(encoding="utf-8") for e in entries)
    for home in filter(None, (out, publish)):
        (home / "experiments").mkdir(parents=True, exist_ok=True)
        for e in entries:
            shutil.copyfile(e / "figure.png", home / "experiments" / f"{e.name}.png")
        (home / "experiments.md").write_text(text, encoding="utf-8")
    return out / "experiments.md"
