#!/usr/bin/python3
"""Changes the program in one place at a time and asks whether a test notices.

usage: scripts/mutate/mutate.py [--seconds N] [--count N] [--files GLOB,...] [--seed N] [--skip N] [--stages LIST] [--place FILE:LINE]... [--again] [--workers N]
  --skip    of the seed's draw the first N, which were asked elsewhere
  --files   sources, default src/*/*.cpp and below but src/cli      --stages  unit,root,cli: in turn, for what survives
  --again   those that survived before, wherever their lines are now
  --place   all mutants of these lines, in place of random ones     --workers at once, each in a copy of its own (default: half the CPUs, or 2)

A mutant is shown to the tests that enter the function that it changes, then to those that enter anything else of its file,
the quickest first (each test is run once for that, reach.py). Scripts (cli) only to those that enter the function; those that
share the machine run side by side, and a script has to fail twice. To skip what the program as it is does not skip is to fail.
Works in copies (build-mutate/), with objects of their own, compiled without optimization. What was found out is kept there:
what was noticed is not asked again while the line is the same, what survived not while no source and no test changes. So the
same command goes on after Ctrl-C.
Equal in effect, with the reason: tests/mutation-equal.txt.     exit: 0 done, 1 the program as it is does not pass, 2 usage
"""

import argparse
import contextlib
import dataclasses
import fnmatch
import functools
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

from mutants import Mutant, applied, drawn, mutants_of
from reach import Reach
from running import STOP, Interrupted, ended, queues_put_back
from stages import OWN, PROGRAMS, TARGETS, asked, groups_of, own

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLACE = ROOT / "build-mutate"
RESULTS, REACHED_O = PLACE / "results.jsonl", PLACE / "reached.o"
EQUAL = ROOT / "tests/mutation-equal.txt"
COVER = "-O0 -gline-tables-only -fsanitize-coverage=inline-bool-flag,pc-table"
BUILD = ("make", "-s", "B=build", "SETS=4", "CUDA=0", "WARN=", "CXX=clang++-14")
RECORDING = (f"CXXFLAGS={COVER}", f"LDFLAGS=-fuse-ld=lld {REACHED_O}")
# The changed object needs no flags of what it enters, and nobody looks a line up: half the compiler's and linker's time.
MUTANT = ("CXXFLAGS=-O0 -g0", f"LDFLAGS=-fuse-ld=lld -Wl,-O0,--strip-debug {REACHED_O}")


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


def compiled(tree, target):
    """The program as it is."""
    return ended((*BUILD, *RECORDING, f"-j{os.cpu_count()}", target), tree, 3600, f"{tree}.log") == 0


@functools.cache
def steps(tree, stage, file):
    """What make would run for a change of the file: (compiler's, linker's command), of a mutant's object and program. Archives are
    not made: their objects are named instead."""
    program = PROGRAMS[stage]
    said = subprocess.run((*BUILD, *MUTANT, "-n", f"--eval=object-of: ; echo $(call object_of,{file})", program, "object-of"), cwd=tree,
                          capture_output=True, text=True, check=True).stdout.splitlines()
    built = said[-1].split()[-1]
    compile_ = next((line.split() for line in said if line.endswith(f"-o {built}")), None)
    if not compile_:
        return None  # no part of this program
    link = next(line for line in said if line.endswith(f"-o {program}")).split()
    members = {words[words.index("rcs") + 1]: words[words.index("rcs") + 2:] for words in map(str.split, said) if "rcs" in words}
    link = [new for word in link for new in (("-Wl,--start-lib", *members[word], "-Wl,--end-lib") if word in members else (word,))]
    return (*compile_[:-1], f"{OWN}/changed.o"), (*(f"{OWN}/changed.o" if w == built else w for w in link[:-1]), own(program))


def state_of(tree, names, stage):
    """What a stage's programs and tests are made of, as a few letters."""
    folders = ("src/", "ebpf/", "tests/support/", f"tests/{stage}/")
    read = (name.encode() + (tree / name).read_bytes() for name in names if name.startswith(folders))
    return hashlib.sha256(b"".join(read)).hexdigest()[:16]


def reach_of(tree, states, workers):
    """Builds the program as it is and learns which tests enter which function; what is known of this state is taken from before."""
    reach = Reach(tree)
    for stage, state in states.items():
        if not compiled(tree, TARGETS[stage]):
            sys.exit(f"mutate: the program as it is does not build: {tree}.log")
        kept = PLACE / f"reach-{stage}-{state}.json"
        if not kept.exists():
            one = Reach(tree)
            print(f"mutate: runs each of the {stage} tests once, to learn what it enters", flush=True)
            failed = [test for commands, at_once in groups_of(stage, tree, workers)
                      for test in one.learn(stage, tree / PROGRAMS[stage], commands, at_once)]
            if failed:
                print(f"mutate: {stage} tests that do not pass alone here, and are not asked: {', '.join(failed)}", flush=True)
            one.save(kept)
        reach.load(kept)
    return reach


@contextlib.contextmanager
def changed(mutant, tree):
    """The file with the change; afterwards it is as it was, for make too."""
    path = tree / mutant.file
    text, times = path.read_text(), path.stat()
    path.write_text(applied(text, mutant))
    try:
        yield
    finally:
        path.write_text(text)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def tried(mutant, stages, reach, tree):
    """Builds and asks."""
    commands = {stage: both for stage in stages if (both := steps(tree, stage, mutant.file))}
    with changed(mutant, tree):
        if not commands or ended(next(iter(commands.values()))[0], tree, 600, f"{tree}.log") != 0:
            return Outcome("not compiled")
        for stage, (_, link) in commands.items():
            if ended(link, tree, 600, f"{tree}.log") != 0:
                return Outcome("not compiled")
            if asked(stage, mutant, reach, tree):
                return Outcome("noticed", stage)
    return Outcome("survived")


def equal_changes():
    """Of tests/mutation-equal.txt: "CHANGE  # why"."""
    lines = EQUAL.read_text().splitlines() if EQUAL.exists() else []
    return {line.split("  # ")[0] for line in lines if "  # " in line}


def rows_kept():
    """Of all campaigns before, oldest first."""
    return map(json.loads, RESULTS.read_text().splitlines() if RESULTS.exists() else [])


def survivors():
    """The changes that nothing noticed when they were last asked."""
    last = {row["change"]: row["outcome"] for row in rows_kept()}
    return {change for change, outcome in last.items() if outcome == "survived"}


class Results:
    """Outcomes of campaigns before, by change and line; a stage that noticed nothing counts only while its sources and tests are the
    same. Of `states` ({stage: what state_of() says}) those of this campaign."""

    def __init__(self, states):
        self.states, self.of = states, {}
        for row in rows_kept():
            self.of[row["change"], row["line"]] = row

    def known(self, mutant):
        row = self.of.get((mutant.change, mutant.line))
        if not row or (row["outcome"] == "survived" and not self.states.items() <= row["states"].items()):
            return None
        return Outcome(row["outcome"], row["by"])

    def add(self, mutant, outcome):
        with open(RESULTS, "a", encoding="utf-8") as file:
            file.write(json.dumps({"change": mutant.change, "line": mutant.line, "kind": mutant.kind, "outcome": outcome.word,
                                   "by": outcome.by, "states": self.states}) + "\n")


def chosen(options, tree):
    """Mutants in the order they are tried: the seed's."""
    sources = sorted(p.relative_to(tree).as_posix() for p in (tree / "src").rglob("*.cpp"))
    globs = options.files.split(",") if options.files else None
    wanted = [f for f in sources if (any(fnmatch.fnmatch(f, g) for g in globs) if globs else not f.startswith("src/cli/"))]
    found = [m for f in wanted for m in mutants_of(f, (tree / f).read_text())]
    if options.place:
        return [m for m in found if f"{m.file}:{m.line}" in options.place]
    if options.again:
        again = survivors()
        found = [m for m in found if m.change in again]
    return drawn(found, options.seed)[options.skip:]


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--count", type=int, default=sys.maxsize)
    parser.add_argument("--files", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--stages", default="unit,root")
    parser.add_argument("--place", action="append", default=[])
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--workers", type=int, default=max(2, (os.cpu_count() or 2) // 2))
    options = parser.parse_args()
    options.stages = options.stages.split(",")
    if unknown := set(options.stages) - set(TARGETS):
        parser.error(f"--stages: {', '.join(sorted(unknown))}: not one of {', '.join(TARGETS)}")
    return options


class Campaign:
    """{mutant: outcome} as far as time and count reach; workers take the next mutant each."""

    def __init__(self, mutants, results, reach, options):
        self.results, self.equal, self.found = results, equal_changes(), {}
        self.mutants, self.stages, self.reach = iter(mutants), options.stages, reach
        self.begin, self.count = time.monotonic(), options.count
        self.until, self.asked = self.begin + options.seconds, 0
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
                elif known := self.results.known(mutant):
                    self.found[mutant] = known
                else:
                    return mutant
            return None

    def work(self, tree):
        while not STOP.is_set() and (mutant := self.next()):
            try:
                outcome = tried(mutant, self.stages, self.reach, tree)
            except Interrupted:
                return
            with self.lock:
                self.results.add(mutant, outcome)
                self.found[mutant] = outcome
                self.asked += 1
                print(f"{outcome.word:12} {outcome.by:5} {mutant.file}:{mutant.line} {mutant.kind}", flush=True)


def report(campaign):
    found: dict[Mutant, Outcome] = dict(campaign.found)

    def number(word):
        return sum(o.word == word for o in found.values())

    alive = [m for m, o in found.items() if o.word == "survived"]
    for m in sorted(alive, key=lambda m: (m.file, m.line)):
        print(f"\nsurvived: {m.file}:{m.line} ({m.kind})\n  - {m.before.strip()}\n  + {m.after.strip()}")
    tried_ = len(found) - number("not compiled")
    met = number("noticed") + number("equal")
    print(f"\n{tried_} mutants that compile: {number('noticed')} noticed, {number('equal')} equal in effect, {len(alive)} survived"
          f" ({100 * met / max(1, tried_):.1f} % met); {number('not compiled')} did not compile")
    if campaign.asked:
        seconds = time.monotonic() - campaign.begin
        print(f"asked now: {campaign.asked} in {seconds:.0f} s, {seconds / campaign.asked:.1f} s each")


def make_own_headers(tree):
    """Precompiled headers name, from the root, the files that they were made of: a copy's would be another tree's."""
    copies = {path: path.stat().st_mtime_ns for path in (tree / "build/pch").glob("*.gch")}
    for path in copies:
        path.unlink()
    subprocess.run((*BUILD, *RECORDING, *(str(path.relative_to(tree)) for path in copies)), cwd=tree, check=True)
    for path, time_ns in copies.items():  # nothing is made anew for them
        os.utime(path, ns=(time_ns, time_ns))


def run(options):
    """The campaign, as far as it comes; None when it was interrupted before the first mutant."""
    subprocess.run(("clang++-14", "-std=c++20", "-O1", "-fPIC", "-D_GNU_SOURCE", "-c", ROOT / "scripts/mutate/reached.cpp", "-o", REACHED_O), check=True)
    trees = [PLACE / f"tree{i}" for i in range(options.workers)]
    names = [copied(tree) for tree in trees][0]
    mutants = chosen(options, trees[0])
    if not mutants:
        sys.exit("mutate: no source, or no place of these, can be changed: --files takes patterns such as 'src/plan/*.cpp'")
    states = {stage: state_of(trees[0], names, stage) for stage in options.stages}
    reach = reach_of(trees[0], states, options.workers)
    for tree in trees[1:]:
        subprocess.run(("cp", "-a", trees[0] / "build", tree), check=True)
        make_own_headers(tree)
    for tree in trees:
        (tree / OWN).mkdir(exist_ok=True)
        beside = tree / OWN / "blksweep-mpi"  # as it is: scripts look for it beside the program
        if not beside.is_symlink():
            beside.symlink_to("../blksweep-mpi")
    print(f"{len(mutants)} mutants, {len(reach.tests)} tests", flush=True)
    campaign = Campaign(mutants, Results(states), reach, options)
    workers = [threading.Thread(target=campaign.work, args=(tree,)) for tree in trees]
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    except KeyboardInterrupt:
        STOP.set()  # each worker puts its source back
        for worker in workers:
            worker.join()
        print("mutate: interrupted; the same command goes on")
    return campaign


def main():
    options = arguments()
    PLACE.mkdir(exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with queues_put_back():
            report(run(options))
    except (KeyboardInterrupt, Interrupted):
        STOP.set()
        sys.exit("mutate: interrupted; the same command goes on")


if __name__ == "__main__":
    main()
