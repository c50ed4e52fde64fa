#!/usr/bin/python3
"""The experiments of scripts/experiments: runs them, draws a figure of each and a page of all (`make experiments`).

An experiment NAME is NAME.toml, a spec of `blksweep run`, and NAME.py, its figure; where a spec cannot say it, NAME.sh
DATA WORK RESULTS.db measures instead. A line of a spec that ends in `# full: VALUE` has that value in the full form.

DIR/NAME gets made-from.toml, results.db, figure.png, figure.pdf and entry.md; DIR/experiments.md is the page. What is
there is not measured again, and what was cut off goes on; results of another spec or program are moved to NAME.old.
exit: 0 done, 1 something failed, 3 something is incomplete, 77 nothing can be measured here, 130 interrupted.
"""
import argparse
import importlib.util
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

SCRIPTS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(SCRIPTS / "figures"))
import gallery  # noqa: E402
import load  # noqa: E402

FULL = re.compile(r"^(\s*[\w-]+\s*=\s*)\S.*?\s*# full: (.*)$", re.M)
DONE, FAILED, INCOMPLETE, UNSUPPORTED, INTERRUPTED = 0, 1, 3, 77, 130
WORDS = {DONE: "done", INCOMPLETE: "done, but some runs are incomplete", UNSUPPORTED: "not possible here",
         INTERRUPTED: "interrupted"}


def measured_by(home, name):
    script = home / f"{name}.sh"
    return script if script.exists() else home / f"{name}.toml"


def names(home):
    return sorted(path.stem for path in home.glob("*.py") if measured_by(home, path.stem).exists())


def text_of(path, full):
    """What is measured, in its quick or full form."""
    text = path.read_text(encoding="utf-8")
    return FULL.sub(r"\1\2", text) if full else text


def wishes(path, form):
    """What the environment asks of a script beside its form: other settings are other results."""
    named = set(re.findall(r"\$\{([A-Z_]+):-", path.read_text(encoding="utf-8"))) if path.suffix == ".sh" else set()
    asked = sorted(name for name in named - {"BLKSWEEP", "PYTHON", *form} if name in os.environ)
    return "".join(f"# {name}={os.environ[name]}\n" for name in asked)


def figure_of(path):
    """The module of the experiment's figure, beside `path`."""
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path.with_suffix(".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def say(text):
    print(f"experiments: {text}", file=sys.stderr, flush=True)


def call(argv, **how):
    """Runs it to its end; its exit status. A Ctrl-C reaches it from the terminal, a SIGTERM from here: it then puts
    back what it borrowed of the node."""
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, **how)
    before = signal.signal(signal.SIGINT, lambda *_: None), signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    code = child.wait()
    signal.signal(signal.SIGINT, before[0])
    signal.signal(signal.SIGTERM, before[1])
    return INTERRUPTED if code in (130, 143, -signal.SIGINT, -signal.SIGTERM) else code


class Experiment:
    def __init__(self, by, folder, program, full):
        self.by, self.folder, self.program, self.full = by, folder, program, full
        self.db = folder / "results.db"
        self.work = folder / "work"
        self.stamp = folder / "made-from.toml"
        self.entry = folder / "entry.md"
        self.figure = figure_of(by)

    def form(self):
        return getattr(self.figure, "FULL" if self.full else "QUICK", {})

    def measured(self):
        """Whether it is; makes room for it where other results stand."""
        version = subprocess.run([self.program, "--version"], capture_output=True, text=True, check=True).stdout
        wanted = f"# {version.strip()}\n{wishes(self.by, self.form())}{text_of(self.by, self.full)}"
        if self.stamp.exists() and self.stamp.read_text(encoding="utf-8") != wanted:
            old = self.folder.with_name(self.folder.name + ".old")
            shutil.rmtree(old, ignore_errors=True)
            self.folder.rename(old)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.stamp.write_text(wanted, encoding="utf-8")
        return self.entry.exists()

    def measure(self):
        if self.by.suffix == ".toml":
            more = getattr(self.figure, "options", lambda work: [])(self.work)
            command = [self.program, "run", self.stamp, "--db", self.db, "--workdir", self.work, *more]
            return call(command, stdout=subprocess.DEVNULL)
        self.work.mkdir(exist_ok=True)
        return call([self.by, self.work / "data", self.work / "made", self.db], stdout=subprocess.DEVNULL,
                    env={**os.environ, "BLKSWEEP": self.program, "PYTHON": sys.executable, **self.form()})

    def draw(self):
        """The figure and what the page says of it."""
        code = call([self.program, "report", self.db, "--experiment", "all", "--no-figures", "-o", self.folder],
                    stdout=subprocess.DEVNULL)
        if code not in (DONE, INCOMPLETE):
            return code
        try:
            gallery.make(self.figure, self.by, self.db, self.folder, self.full)
        except load.NothingToDraw as nothing:
            say(f"{self.by.stem}: nothing to draw: {nothing}")
            return FAILED
        return DONE

    def run(self, draw_only):
        code = DONE if draw_only or self.measured() else self.measure()
        if code not in (DONE, INCOMPLETE):
            return code
        shutil.rmtree(self.work, ignore_errors=True)
        return self.draw() or code


def run_all(chosen, options):
    """{name: exit status}; ends with an interruption."""
    found = {}
    for name in chosen:
        begin = time.monotonic()
        say(name)
        by = measured_by(options.home, name)
        found[name] = Experiment(by, options.out / name, options.program, options.full).run(options.draw)
        say(f"{name}: {WORDS.get(found[name], 'FAILED')}, {time.monotonic() - begin:.0f} s")
        if found[name] == INTERRUPTED:
            break
    return found


def status_of(found):
    codes = set(found.values())
    for bad in (INTERRUPTED, FAILED):
        if bad in codes or bad == FAILED and codes - set(WORDS):
            return bad
    return UNSUPPORTED if codes == {UNSUPPORTED} else INCOMPLETE if INCOMPLETE in codes else DONE


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--home", type=pathlib.Path, default=SCRIPTS / "experiments", help="where they are")
    parser.add_argument("--out", type=pathlib.Path, default="build/experiments", help="folder DIR")
    parser.add_argument("--full", action="store_true", help="the full form, for a node of its own: hours")
    parser.add_argument("--draw", action="store_true", help="draw again what was measured before, whatever made it")
    parser.add_argument("--publish", type=pathlib.Path, metavar="DOCS", help="copy page and figures there, too")
    parser.add_argument("--note", default="", help="what the page says of all its figures")
    options = parser.parse_args(argv)
    there = names(options.home)
    if unknown := [name for name in options.names if name not in there]:
        parser.error(f"no experiment {unknown[0]!r}: there are {', '.join(there)}")
    options.names = options.names or there
    options.out = options.out.resolve()
    options.program = pathlib.Path(os.environ.get("BLKSWEEP", "build/blksweep")).resolve()
    return options


def main(argv):
    options = arguments(argv)
    found = run_all(options.names, options)
    page = gallery.page(options.out, names(options.home), options.publish, options.note)
    say(f"page: {page}")
    return status_of(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
