"""Which tests enter which function: so that a mutant is shown to the tests that can notice it, the quickest first.

Each test runs alone, once, in programs that tell what they enter (reached.cpp).
"""

import array
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

from mutants import code_of
from running import bounded

FUNCTION = re.compile(r"\)[^;]*\{")  # where one begins


@dataclasses.dataclass
class Entered:
    """Of one test: how long it took, and the functions, each as (file, first line, lambda)."""
    seconds: float
    functions: set


def listed(program):
    """The names of a GoogleTest program's tests."""
    text = subprocess.run((program, "--gtest_list_tests"), capture_output=True, text=True, check=True).stdout
    suite, names = "", []
    for line in text.splitlines():
        name = line.split("#")[0].rstrip()
        if not name.startswith(" "):
            suite = name
        elif not name.strip().startswith("DISABLED_"):
            names.append(suite + name.strip())
    return names


def places_of(program, folder):
    """The address of each flag of the program, 0 where no function begins; and where in a file of flags they begin."""
    file = pathlib.Path(folder) / "places"
    argument = "--gtest_list_tests" if program.name.endswith("_tests") else "--version"
    subprocess.run((program, argument), env={**os.environ, "REACHED_PLACES": str(file)}, stdout=subprocess.DEVNULL, check=True)
    places = array.array("Q", file.read_bytes())
    return places[1:], places[0]


def entered(folder, name, places, begin):
    """Addresses of functions that a test's processes of that program entered."""
    found = set()
    for path in pathlib.Path(folder).glob(f"{name}.*"):
        flags = path.read_bytes()[begin:]
        at = flags.find(1)
        while 0 <= at < len(places):
            found.add(places[at])
            at = flags.find(1, at + 1)
    return found - {0}


def ran(command, env, cwd, seconds, read):
    """(seconds, addresses) of one test; None where it did not pass alone. What is skipped here enters nothing: it is never asked."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        status = bounded(command, cwd, seconds, seconds, {**env, "REACHED": folder})
        return (time.monotonic() - begin, read(folder) if status == 0 else set()) if status in (0, 77) else None


def functions_at(program, places, tree):
    """{address: (file, line, lambda)} of what stands in the tree."""
    asked = "".join(f"{place:#x}\n" for place in sorted(places))
    text = subprocess.run(("llvm-symbolizer-14", f"--obj={program}", "--no-inlines"), input=asked, capture_output=True, text=True, check=True).stdout
    found = {}
    for place, answer in zip(sorted(places), text.split("\n\n")):
        name, where = answer.strip().split("\n")[:2]
        file, line, _ = where.rsplit(":", 2)
        path = pathlib.Path(os.path.normpath(os.path.join(tree, file)))
        if path.is_relative_to(tree) and line != "0":
            found[place] = (path.relative_to(tree).as_posix(), int(line), "$_" in name or "{lambda" in name)
    return found


class Reach:
    """The map of one tree: stage, test, functions."""

    def __init__(self, tree):
        self.tree = pathlib.Path(tree)
        self.tests = {}  # (stage, test): Entered

    def learn(self, stage, program, commands, workers):
        """Runs {test: (command, environment)} of a stage; its processes are of `program`."""
        with tempfile.TemporaryDirectory() as folder:
            places, begin = places_of(program, folder)
        pool = concurrent.futures.ThreadPoolExecutor(workers)
        try:
            jobs = {test: pool.submit(ran, command, env, self.tree, 900, lambda f: entered(f, program.name, places, begin))
                    for test, (command, env) in commands.items()}
            outcomes = {test: job.result() for test, job in jobs.items()}
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        passed = {test: outcome for test, outcome in outcomes.items() if outcome is not None}
        known = functions_at(program, set().union(*(found for _, found in passed.values())), self.tree) if passed else {}
        for test, (seconds, found) in passed.items():
            self.tests[stage, test] = Entered(seconds, {known[p] for p in found if p in known})
        return sorted(set(commands) - set(passed))

    def shown_by(self, file):
        """The files that show what the file says: itself; where it has constants only, and nobody enters it, those that name it."""
        path = self.tree / file
        if not path.exists() or any(FUNCTION.search(code_of(line)) for line in path.read_text().split("\n")):
            return {file}
        named = f'#include "{file.removeprefix("src/").removesuffix(".cpp")}.h"'
        sources = (self.tree / "src").rglob("*.cpp")
        return {source.relative_to(self.tree).as_posix() for source in sources if named in source.read_text()}

    def of(self, stage, file, line, inside):
        """The stage's tests that enter the file, the quickest first; before all others those of the line's function, or of a
        lambda in it before the line, if the line is `inside` one."""
        by_line = {}  # (first line of a function, whether a lambda): tests
        shown = self.shown_by(file)
        for (of_stage, test), one in self.tests.items():
            for in_file, first, is_lambda in one.functions:
                if in_file in shown and of_stage == stage:
                    by_line.setdefault((first, is_lambda), set()).add(test)
        begin = max((first for first, is_lambda in by_line if first <= line and not is_lambda), default=0)
        near = {test for (first, _), tests in by_line.items() if inside and begin <= first <= line for test in tests}
        every = set().union(*by_line.values())
        return [sorted(tests, key=lambda test: (self.tests[stage, test].seconds, test)) for tests in (near, every - near)]

    def save(self, path):
        rows = [{"stage": s, "test": t, "seconds": e.seconds, "functions": sorted(e.functions)} for (s, t), e in self.tests.items()]
        path.write_text(json.dumps(rows))

    def load(self, path):
        for row in json.loads(path.read_text()):
            self.tests[row["stage"], row["test"]] = Entered(row["seconds"], {tuple(f) for f in row["functions"]})
