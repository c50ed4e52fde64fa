"""What a stage of a campaign is: its program, its tests, and how they are asked whether they notice a mutant."""

import concurrent.futures
import contextlib
import itertools
import pathlib
import threading

from reach import listed
from running import bounded

TARGETS = {"unit": "build/unit_tests", "root": "build/root_tests", "cli": "test-programs"}
PROGRAMS = {"unit": "build/unit_tests", "root": "build/root_tests", "cli": "build/blksweep"}  # of these a mutant has its own
OWN = "build/mutant"
CLI_SECONDS = 300  # of scripts, for one mutant
LANES = 3          # scripts at once: much of their time is waiting
SAYS_SKIPPED = 'said=$("$0" "$@") || exit; case $said in *"[  SKIPPED ]"*) exit 77;; esac'
SIDE_BY_SIDE = "\n# Side by side: "  # in a script: it may run beside others (run_tests.py)
ALONE = threading.Lock()  # root tests and scripts change what the machine has once


def own(program):
    """Where a mutant's program is."""
    return f"{OWN}/{pathlib.PurePath(program).name}"


def gtest(program, tests):
    """(command, environment) of these tests; it ends with 77 where one is skipped, as a script does."""
    return (("sh", "-c", SAYS_SKIPPED, program, "--gtest_fail_fast", "--gtest_brief=1"), {"GTEST_FILTER": ":".join(tests)})


def script(tree, program, name):
    """The same of a script; it goes to other folders."""
    return (("bash", f"tests/cli/{name}.sh"), {"BLKSWEEP": str(tree / program), "BUILD": "build"})


def shares_the_machine(tree, test):
    return SIDE_BY_SIDE in (tree / f"tests/cli/{test}.sh").read_text()


def commands_of(stage, tree):
    """{test: (command, environment)}."""
    if stage == "cli":
        return {path.stem: script(tree, PROGRAMS[stage], path.stem) for path in sorted((tree / "tests/cli").glob("*.sh"))}
    return {test: gtest(PROGRAMS[stage], [test]) for test in listed(tree / PROGRAMS[stage])}


def groups_of(stage, tree, workers):
    """The stage's commands that may run at once, each with how many."""
    commands = commands_of(stage, tree)
    shared = {test: command for test, command in commands.items() if stage == "unit" or (stage == "cli" and shares_the_machine(tree, test))}
    yield shared, LANES if stage == "cli" else workers
    yield {test: command for test, command in commands.items() if test not in shared}, 1


def noticed_by(stage, tests, reach, tree):
    """Whether one of these of GoogleTest's fails, all at once; to skip what is not skipped otherwise is to fail: CI takes it so."""
    took = sum(reach.tests[stage, test].seconds for test in tests)
    command, env = gtest(own(PROGRAMS[stage]), tests)
    return bounded(command, tree, 6 * took + 30, 3 * took + 5, env) != 0


def scripts_notice(tests, reach, tree):
    """Whether one of these scripts fails (or skips) twice: once, something else on the machine may have been the reason."""
    noticed = threading.Event()

    def ask(test):
        seconds = 3 * reach.tests["cli", test].seconds + 30
        command, env = script(tree, own(PROGRAMS["cli"]), test)
        if not noticed.is_set() and all(bounded(command, tree, seconds, seconds, env, noticed) != 0 for _ in range(2)):
            noticed.set()

    shared = [test for test in tests if shares_the_machine(tree, test)]
    with concurrent.futures.ThreadPoolExecutor(LANES) as lanes:
        for _ in lanes.map(ask, shared):
            pass
    for test in tests:
        if test not in shared:
            ask(test)
    return noticed.is_set()


def within(seconds, tests, reach):
    """The first of these scripts that take no longer together."""
    total = itertools.accumulate(reach.tests["cli", test].seconds for test in tests)
    return [test for test, sum_ in zip(tests, total) if sum_ <= seconds]


def chunks(tests, reach, stage):
    """Of a second, of four, of sixteen and so on, so that what the quick ones notice, or never end in, costs little."""
    found, budget, spent = [], 1, 0
    for test in tests:
        spent += reach.tests[stage, test].seconds
        if not found or spent > budget or len(found[-1]) == 400:
            budget, spent = 4 * budget, reach.tests[stage, test].seconds
            found.append([])
        found[-1].append(test)
    return found


def asked(stage, mutant, reach, tree):
    """Whether a stage notices."""
    inside = mutant.before.startswith(" ")
    groups = reach.of(stage, mutant.file, mutant.line, inside)
    with contextlib.nullcontext() if stage == "unit" else ALONE:
        if stage == "cli":
            return scripts_notice(within(CLI_SECONDS, groups[0 if inside else 1], reach), reach, tree)
        return any(noticed_by(stage, some, reach, tree) for tests in groups for some in chunks(tests, reach, stage))
