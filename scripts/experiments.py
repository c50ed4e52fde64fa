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
HOME = SCRIPTS / "experiments"
sys.path.insert(0, str(SCRIPTS / "figures"))
FULL = re.compile(r"^(\s*[\w-]+\s*=\s*)\S.*?\s*# full: (.*)$", re.M)
DONE, FAILED, INCOMPLETE, UNSUPPORTED, INTERRUPTED = 0, 1, 3, 77, 130
WORDS = {DONE: "done", INCOMPLETE: "done, but some runs are incomplete", UNSUPPORTED: "not possible here",
         INTERRUPTED: "interrupted"}


def names():
    return sorted(path.stem for path in HOME.glob("*.py") if measured_by(path.stem).exists())


def measured_by(name):
    script = HOME / f"{name}.sh"
    return script if script.exists() else HOME / f"{name}.toml"


def text_of(name, full):
    """What is measured, in its quick or full form."""
    text = measured_by(name).read_text(encoding="utf-8")
    return FULL.sub(r"\1\2", text) if full else text


def figure_of(name):
    """The module of the experiment's figure."""
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), HOME / f"{name}.py")
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
    def __init__(self, name, folder, program, full):
        self.name, self.folder, self.program, self.full = name, folder, program, full
        self.db = folder / "results.db"
        self.work = folder / "work"
        self.stamp = folder / "made-from.toml"
        self.entry = folder / "entry.md"

    def fresh(self):
        """Whether it is measured already; makes room for it where other results stand."""
        version = subprocess.run([self.program, "--version"], capture_output=True, text=True, check=True).stdout
        wanted = f"# {version.strip()}\n{text_of(self.name, self.full)}"
        if self.stamp.exists() and self.stamp.read_text(encoding="utf-8") != wanted:
            old = self.folder.with_name(self.name + ".old")
            shutil.rmtree(old, ignore_errors=True)
            self.folder.rename(old)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.stamp.write_text(wanted, encoding="utf-8")
        return self.entry.exists()

    def measure(self):
        by = measured_by(self.name)
        if by.suffix == ".toml":
            command = [self.program, "run", self.stamp, "--db", self.db, "--workdir", self.work]
            return call(command, stdout=subprocess.DEVNULL)
        form = getattr(figure_of(self.name), "FULL" if self.full else "QUICK", {})
        return call([by, self.work / "data", self.work / "made", self.db], stdout=subprocess.DEVNULL,
                    env={**os.environ, "BLKSWEEP": self.program, "PYTHON": sys.executable, **form})

    def draw(self):
        """The figure and what the page says of it."""
        import gallery
        code = call([self.program, "report", self.db, "--experiment", "all", "--no-figures", "-o", self.folder],
                    stdout=subprocess.DEVNULL)
        if code not in (DONE, INCOMPLETE):
            return code
        gallery.make(figure_of(self.name), self.name, self.db, self.folder, measured_by(self.name).name, self.full)
        return DONE

    def run(self, draw_only):
        code = DONE if draw_only or self.fresh() else self.measure()
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
        found[name] = Experiment(name, options.out / name, options.program, options.full).run(options.draw)
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
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {' '.join(names())}; default: all")
    parser.add_argument("--out", type=pathlib.Path, default="build/experiments", help="folder DIR")
    parser.add_argument("--full", action="store_true", help="the full form, for a node of its own: hours")
    parser.add_argument("--draw", action="store_true", help="draw again what was measured before, whatever made it")
    parser.add_argument("--publish", type=pathlib.Path, metavar="DOCS", help="copy page and figures there, too")
    options = parser.parse_args(argv)
    if unknown := [name for name in options.names if name not in names()]:
        parser.error(f"no experiment {unknown[0]!r}: there are {', '.join(names())}")
    options.out = options.out.resolve()
    options.program = pathlib.Path(os.environ.get("BLKSWEEP", "build/blksweep")).resolve()
    return options


def main(argv):
    options = arguments(argv)
    found = run_all(options.names or names(), options)
    import gallery
    page = gallery.page(options.out, names(), options.publish)
    say(f"figures: {page}")
    return status_of(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
