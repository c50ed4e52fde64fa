#!/usr/bin/python3
"""Changes the program in one place at a time and asks whether a test notices.

usage: scripts/mutate/mutate.py [--seconds N] [--count N] [--files GLOB,...] [--seed N] [--stages LIST] [--place FILE:LINE]...
  --files   sources, default src/*/*.cpp and below but src/cli      --stages  unit,root,cli: in turn, for what survives
  --place   all mutants of these lines, in place of random ones

Works in a copy (build-mutate/), with objects of its own, compiled without optimization. What was found out is kept there and
not asked again while the line and its file's tests are the same seed's: the same command goes on after Ctrl-C.
Equal in effect, with the reason: tests/mutation-equal.txt.     exit: 0 done, 1 the program as it is does not pass, 2 usage
"""

import argparse
import dataclasses
import fnmatch
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

from mutants import Mutant, applied, mutants_of

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLACE = ROOT / "build-mutate"
TREE, RESULTS = PLACE / "tree", PLACE / "results.jsonl"
EQUAL = ROOT / "tests/mutation-equal.txt"
BUILD = ("make", "-s", "B=build", "CXXFLAGS=-O0", "CUDA=0")
STAGES = {"unit": ("build/unit_tests", ("build/unit_tests", "--gtest_fail_fast", "--gtest_brief=1")),
          "root": ("build/root_tests", ("build/root_tests", "--gtest_fail_fast", "--gtest_brief=1")),
          "cli": ("test-programs", (sys.executable, "scripts/run_tests.py", "--build", "build", "cli"))}


@dataclasses.dataclass
class Outcome:
    word: str     # noticed, survived, equal, not compiled
    by: str = ""  # the stage


def copied():
    """The checkout as it is now in TREE; files that are equal keep their times, so make compiles what differs."""
    listed = subprocess.run(("git", "ls-files", "-co", "--exclude-standard"), cwd=ROOT, capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
    for name in names:
        to = TREE / name
        if not to.exists() or to.read_bytes() != (ROOT / name).read_bytes():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to)
    tracked = {TREE / name for name in names}
    for path in TREE.rglob("*"):
        if path.is_file() and path not in tracked and "build" not in path.relative_to(TREE).parts[:1]:
            path.unlink()


def ended(command, seconds, log=None):
    """Its exit status; None when it had to be ended. In a group of its own, so that nothing of it stays."""
    out = open(log, "w", encoding="utf-8") if log else subprocess.DEVNULL
    ran = subprocess.Popen(command, cwd=TREE, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return ran.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if ran.poll() is None:
            os.killpg(ran.pid, signal.SIGKILL)
            ran.wait()
        if log:
            out.close()


def compiled(target):
    return ended((*BUILD, f"-j{os.cpu_count()}", target), 1800, PLACE / "make.log") == 0


def baseline(stages):
    """How long each stage takes as the program is; it has to pass."""
    times = {}
    for stage in stages:
        target, command = STAGES[stage]
        if not compiled(target):
            sys.exit(f"mutate: the program as it is does not build: {PLACE}/make.log")
        begin = time.monotonic()
        if ended(command, 3600, PLACE / f"{stage}.log") != 0:
            sys.exit(f"mutate: {stage} tests fail with the program as it is: {PLACE}/{stage}.log")
        times[stage] = time.monotonic() - begin
    return times


def tried(mutant, times):
    """Builds and asks; the file is as it was afterwards."""
    path = TREE / mutant.file
    text = path.read_text()
    path.write_text(applied(text, mutant))
    try:
        for stage, took in times.items():
            target, command = STAGES[stage]
            if not compiled(target):
                return Outcome("not compiled")
            if ended(command, 3 * took + 30) != 0:
                return Outcome("noticed", stage)
        return Outcome("survived")
    finally:
        path.write_text(text)


def equal_changes():
    """Of tests/mutation-equal.txt: "CHANGE  # why"."""
    lines = EQUAL.read_text().splitlines() if EQUAL.exists() else []
    return {line.split("  # ")[0] for line in lines if "  # " in line}


def known():
    """Outcomes of campaigns before, by change and line."""
    if not RESULTS.exists():
        return {}
    found = map(json.loads, RESULTS.read_text().splitlines())
    return {(f["change"], f["line"]): Outcome(f["outcome"], f["by"]) for f in found}


def noted(mutant, outcome):
    with open(RESULTS, "a", encoding="utf-8") as file:
        file.write(json.dumps({"change": mutant.change, "line": mutant.line, "kind": mutant.kind, "outcome": outcome.word,
                               "by": outcome.by}) + "\n")


def chosen(options):
    """Mutants in the order they are tried: the seed's."""
    sources = sorted(p.relative_to(TREE).as_posix() for p in (TREE / "src").rglob("*.cpp"))
    globs = options.files.split(",") if options.files else None
    wanted = [f for f in sources if (any(fnmatch.fnmatch(f, g) for g in globs) if globs else not f.startswith("src/cli/"))]
    found = [m for f in wanted for m in mutants_of(f, (TREE / f).read_text())]
    if options.place:
        return [m for m in found if f"{m.file}:{m.line}" in options.place]
    random.Random(options.seed).shuffle(found)
    return found


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--count", type=int, default=sys.maxsize)
    parser.add_argument("--files", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stages", default="unit,root")
    parser.add_argument("--place", action="append", default=[])
    options = parser.parse_args()
    options.stages = options.stages.split(",")
    if unknown := set(options.stages) - set(STAGES):
        parser.error(f"--stages: {', '.join(sorted(unknown))}: not one of {', '.join(STAGES)}")
    return options


def campaign(mutants, times, until, count):
    """{mutant: outcome}, as far as the time reaches."""
    before, equal, found = known(), equal_changes(), {}
    for mutant in mutants:
        counted = sum(o.word != "not compiled" for o in found.values())
        if time.monotonic() > until or counted >= count:
            break
        if mutant.change in equal:
            found[mutant] = Outcome("equal")
            continue
        outcome = before.get((mutant.change, mutant.line))
        if outcome is None:
            outcome = tried(mutant, times)
            noted(mutant, outcome)
            print(f"{outcome.word:12} {outcome.by:5} {mutant.file}:{mutant.line} {mutant.kind}", flush=True)
        found[mutant] = outcome
    return found


def report(found: dict[Mutant, Outcome]):
    def number(word):
        return sum(o.word == word for o in found.values())

    alive = [m for m, o in found.items() if o.word == "survived"]
    for m in sorted(alive, key=lambda m: (m.file, m.line)):
        print(f"\nsurvived: {m.file}:{m.line} ({m.kind})\n  - {m.before.strip()}\n  + {m.after.strip()}")
    tried_ = len(found) - number("not compiled")
    met = number("noticed") + number("equal")
    print(f"\n{tried_} mutants that compile: {number('noticed')} noticed, {number('equal')} equal in effect, {len(alive)} survived"
          f" ({100 * met / max(1, tried_):.1f} % met); {number('not compiled')} did not compile")


def main():
    options = arguments()
    PLACE.mkdir(exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    found = {}
    try:
        copied()
        mutants = chosen(options)
        if not mutants:
            sys.exit("mutate: no source, or no place of these, can be changed: --files takes patterns such as 'src/plan/*.cpp'")
        times = baseline(options.stages)
        print(f"{len(mutants)} mutants; as it is: {', '.join(f'{s} {t:.0f} s' for s, t in times.items())}", flush=True)
        found = campaign(mutants, times, time.monotonic() + options.seconds, options.count)
    except KeyboardInterrupt:
        print("mutate: interrupted; the same command goes on")
    report(found)


if __name__ == "__main__":
    main()
