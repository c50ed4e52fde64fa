"""Which tests enter which function: so that a mutant is shown to the tests that can notice it, the quickest first.

Each test runs alone, once, in programs that write down what they entered (reached.cpp). A process that was killed tells nothing:
who survives the tests named here is shown to all of them before it is called a survivor (mutate.py).
"""

import array
import bisect
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile
import time


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


def addresses(folder):
    """{process: what it entered}, one list for all processes of a test."""
    found = set()
    for path in pathlib.Path(folder).iterdir():
        data = path.read_bytes()
        found.update(array.array("Q", data[: len(data) // 8 * 8]))
    return found


def ran(command, env, cwd, seconds):
    """(seconds, addresses) of one test; None where it did not pass alone."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        done = subprocess.run(command, cwd=cwd, env={**os.environ, **env, "REACHED": folder}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds, check=False)
        return (time.monotonic() - begin, addresses(folder)) if done.returncode in (0, 77) else None


def functions_at(program, places, tree):
    """{address: (file, line, lambda)} of what stands in the tree."""
    asked = "".join(f"{place:#x}\n" for place in sorted(places))
    text = subprocess.run(("llvm-symbolizer-14", f"--obj={program}", "--inlines=0"), input=asked, capture_output=True, text=True, check=True).stdout
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
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            jobs = {test: pool.submit(ran, command, env, self.tree, 900) for test, (command, env) in commands.items()}
            outcomes = {test: job.result() for test, job in jobs.items()}
        passed = {test: outcome for test, outcome in outcomes.items() if outcome is not None}
        known = functions_at(program, set().union(*(entered for _, entered in passed.values())), self.tree) if passed else {}
        for test, (seconds, entered) in passed.items():
            self.tests[stage, test] = Entered(seconds, {known[p] for p in entered if p in known})
        return sorted(set(commands) - set(passed))

    def of(self, stage, file, line):
        """The stage's tests that enter the function of that line, or a lambda in it before the line; the quickest first."""
        by_line = collections.defaultdict(set)
        for (of_stage, test), entered in self.tests.items():
            for in_file, first, is_lambda in entered.functions:
                if in_file == file and first <= line:
                    by_line[first, is_lambda].add((of_stage, test))
        firsts = sorted(by_line)
        whole = [first for first, is_lambda in firsts if not is_lambda]
        begin = whole[-1] if whole else 0
        tests = set().union(*(by_line[f] for f in firsts[bisect.bisect_left(firsts, (begin, False)):]))
        mine = [(self.tests[key].seconds, key[1]) for key in tests if key[0] == stage]
        return [test for _, test in sorted(mine)]

    def save(self, path):
        rows = [{"stage": s, "test": t, "seconds": e.seconds, "functions": sorted(e.functions)} for (s, t), e in self.tests.items()]
        path.write_text(json.dumps(rows))

    def load(self, path):
        for row in json.loads(path.read_text()):
            self.tests[row["stage"], row["test"]] = Entered(row["seconds"], {tuple(f) for f in row["functions"]})
