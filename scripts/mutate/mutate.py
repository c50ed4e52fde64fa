#!/usr/bin/python3
"""Changes the program in one place at a time and asks whether a test notices.

usage: scripts/mutate/mutate.py [--seconds N] [--count N] [--files GLOB,...] [--seed N] [--stages LIST] [--place FILE:LINE]... [--workers N]
  --files   sources, default src/*/*.cpp and below but src/cli      --stages  unit,root,cli: in turn, for what survives
  --place   all mutants of these lines, in place of random ones     --workers at once, each in a copy of its own (default: half the CPUs, or 2)

A mutant is shown to the tests that enter the function that it changes, the quickest first (each test is run once alone
for that, reach.py); what none of them notices, to the whole of its unit and root tests.
Works in copies (build-mutate/), with objects of their own, compiled without optimization. What was found out is kept there and
not asked again while the line and its file's tests are the same seed's: the same command goes on after Ctrl-C.
Equal in effect, with the reason: tests/mutation-equal.txt.     exit: 0 done, 1 the program as it is does not pass, 2 usage
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import fnmatch
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

from mutants import Mutant, applied, mutants_of
from reach import Reach, listed

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLACE = ROOT / "build-mutate"
RESULTS, REACHED_O = PLACE / "results.jsonl", PLACE / "reached.o"
EQUAL = ROOT / "tests/mutation-equal.txt"
COVER = "-O0 -gline-tables-only -fsanitize-coverage=inline-bool-flag,pc-table"
BUILD = ("make", "-s", "B=build", "CUDA=0", "WARN=", "CXX=clang++-14", f"CXXFLAGS={COVER}", f"LDFLAGS=-fuse-ld=lld {REACHED_O}")
TARGETS = {"unit": "build/unit_tests", "root": "build/root_tests", "cli": "test-programs"}
CLI_SECONDS = 300  # of scripts, for one mutant
ALONE = threading.Lock()  # root tests and scripts change what the machine has once


@dataclasses.dataclass
class Outcome:
    word: str     # noticed, survived, equal, not compiled
    by: str = ""  # the stage


def copied(tree):
    """The checkout as it is now; files that are equal keep their times, so make compiles what differs."""
    listing = subprocess.run(("git", "ls-files", "-co", "--exclude-standard"), cwd=ROOT, capture_output=True, text=True, check=True)
    names = [name for name in listing.stdout.splitlines() if (ROOT / name).is_file()]
    for name in names:
        to = tree / name
        if not to.exists() or to.read_bytes() != (ROOT / name).read_bytes():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to)
    tracked = {tree / name for name in names}
    for path in tree.rglob("*"):
        if path.is_file() and path not in tracked and "build" not in path.relative_to(tree).parts[:1]:
            path.unlink()
    return names


def ended(command, tree, seconds, log=None, env=None):
    """Its exit status; None when it had to be ended. In a group of its own, so that nothing of it stays."""
    out = open(log, "w", encoding="utf-8") if log else subprocess.DEVNULL
    ran = subprocess.Popen(command, cwd=tree, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
                           env={**os.environ, **(env or {})})
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


def compiled(tree, target, jobs=1):
    return ended((*BUILD, f"-j{jobs}", target), tree, 3600, f"{tree}.log") == 0


def gtest(stage, tests=()):
    """(command, environment) of these tests, or of all."""
    return ((TARGETS[stage], "--gtest_fail_fast", "--gtest_brief=1"), {"GTEST_FILTER": ":".join(tests)} if tests else {})


def script(name):
    return (("bash", f"tests/cli/{name}.sh"), {"BLKSWEEP": "build/blksweep", "BUILD": "build"})


def commands_of(stage, tree):
    """{test: (command, environment)}."""
    if stage == "cli":
        return {path.stem: script(path.stem) for path in sorted((tree / "tests/cli").glob("*.sh"))}
    return {test: gtest(stage, [test]) for test in listed(tree / TARGETS[stage])}


def reach_of(tree, names, stages, workers):
    """Builds the program as it is and learns which tests enter which function; what is known of this state is taken from before."""
    state = hashlib.sha256(b"".join((tree / n).read_bytes() for n in names if n.startswith(("src/", "tests/", "ebpf/")))).hexdigest()[:16]
    reach = Reach(tree)
    for stage in stages:
        if not compiled(tree, TARGETS[stage], os.cpu_count()):
            sys.exit(f"mutate: the program as it is does not build: {tree}.log")
        kept = PLACE / f"reach-{stage}-{state}.json"
        if not kept.exists():
            one = Reach(tree)
            program = tree / ("build/blksweep" if stage == "cli" else TARGETS[stage])
            failed = one.learn(stage, program, commands_of(stage, tree), workers if stage == "unit" else 1)
            if failed:
                print(f"mutate: {stage} tests that do not pass alone here, and are not asked: {', '.join(failed)}", flush=True)
            one.save(kept)
        reach.load(kept)
    return reach


def noticed_by(stage, tests, reach, tree):
    """Whether one of these tests fails: GoogleTest's all at once, scripts one after the other."""
    took = sum(reach.tests[stage, test].seconds for test in tests)
    if stage != "cli":
        command, env = gtest(stage, tests)
        return ended(command, tree, 3 * took + 20, env=env) != 0
    spent = 0
    for test in tests:
        spent += reach.tests[stage, test].seconds
        if spent > CLI_SECONDS:
            return False
        command, env = script(test)
        if ended(command, tree, 3 * reach.tests[stage, test].seconds + 30, env=env) not in (0, 77):
            return True
    return False


def chunks(tests, most=400):
    return [tests[i:i + most] for i in range(0, len(tests), most)]


def asked(stage, mutant, reach, tree):
    """Whether a stage notices: the tests that enter the function, then (they tell more than is known of them) all."""
    with contextlib.nullcontext() if stage == "unit" else ALONE:
        tests = reach.of(stage, mutant.file, mutant.line)
        if any(noticed_by(stage, some, reach, tree) for some in chunks(tests)):
            return True
        everything = [test for of, test in reach.tests if of == stage]
        rest = sorted(set(everything) - set(tests))
        return stage != "cli" and any(noticed_by(stage, some, reach, tree) for some in chunks(rest))


def tried(mutant, stages, reach, tree):
    """Builds and asks; the file is as it was afterwards."""
    path = tree / mutant.file
    text = path.read_text()
    path.write_text(applied(text, mutant))
    try:
        for stage in stages:
            if not compiled(tree, TARGETS[stage]):
                return Outcome("not compiled")
            if asked(stage, mutant, reach, tree):
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


def chosen(options, tree):
    """Mutants in the order they are tried: the seed's."""
    sources = sorted(p.relative_to(tree).as_posix() for p in (tree / "src").rglob("*.cpp"))
    globs = options.files.split(",") if options.files else None
    wanted = [f for f in sources if (any(fnmatch.fnmatch(f, g) for g in globs) if globs else not f.startswith("src/cli/"))]
    found = [m for f in wanted for m in mutants_of(f, (tree / f).read_text())]
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
    parser.add_argument("--workers", type=int, default=max(2, (os.cpu_count() or 2) // 2))
    options = parser.parse_args()
    options.stages = options.stages.split(",")
    if unknown := set(options.stages) - set(TARGETS):
        parser.error(f"--stages: {', '.join(sorted(unknown))}: not one of {', '.join(TARGETS)}")
    return options


class Campaign:
    """{mutant: outcome} as far as time and count reach; workers take the next mutant each."""

    def __init__(self, mutants, stages, reach, until, count):
        self.before, self.equal, self.found = known(), equal_changes(), {}
        self.mutants, self.stages, self.reach = iter(mutants), stages, reach
        self.until, self.count = until, count
        self.lock = threading.Lock()

    def next(self):
        """The next mutant that has to be tried; None at the end."""
        with self.lock:
            for mutant in self.mutants:
                counted = sum(o.word != "not compiled" for o in self.found.values())
                if time.monotonic() > self.until or counted >= self.count:
                    return None
                if mutant.change in self.equal:
                    self.found[mutant] = Outcome("equal")
                elif (mutant.change, mutant.line) in self.before:
                    self.found[mutant] = self.before[mutant.change, mutant.line]
                else:
                    return mutant
            return None

    def work(self, tree):
        while mutant := self.next():
            outcome = tried(mutant, self.stages, self.reach, tree)
            with self.lock:
                noted(mutant, outcome)
                self.found[mutant] = outcome
                print(f"{outcome.word:12} {outcome.by:5} {mutant.file}:{mutant.line} {mutant.kind}", flush=True)


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
    trees = [PLACE / f"tree{i}" for i in range(options.workers)]
    campaign = None
    try:
        subprocess.run(("clang++-14", "-std=c++20", "-O1", "-fPIC", "-c", ROOT / "scripts/mutate/reached.cpp", "-o", REACHED_O), check=True)
        names = [copied(tree) for tree in trees][0]
        mutants = chosen(options, trees[0])
        if not mutants:
            sys.exit("mutate: no source, or no place of these, can be changed: --files takes patterns such as 'src/plan/*.cpp'")
        reach = reach_of(trees[0], names, options.stages, options.workers)
        for tree in trees[1:]:
            subprocess.run(("cp", "-a", trees[0] / "build", tree), check=True)
        print(f"{len(mutants)} mutants, {len(reach.tests)} tests", flush=True)
        campaign = Campaign(mutants, options.stages, reach, time.monotonic() + options.seconds, options.count)
        with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
            try:
                list(pool.map(campaign.work, trees))
            except KeyboardInterrupt:
                campaign.until = 0  # each worker ends its mutant, so that no source stays changed
                raise
    except KeyboardInterrupt:
        print("mutate: interrupted; the same command goes on")
    report(dict(campaign.found) if campaign else {})


if __name__ == "__main__":
    main()
