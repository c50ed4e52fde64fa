"""Tests notice a mutant when they fail, or skip what they do not skip otherwise; scripts twice. What is noticed is not asked again."""
import pathlib
import tempfile
import unittest

import stages
from reach import Entered, Reach, ran

TOLD = 'echo "$0" >> told\n'
SHARED = "# Side by side: so that it may.\n"


class GoogleTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name).resolve()
        (self.tree / stages.OWN).mkdir(parents=True)
        self.reach = Reach(self.tree)
        self.reach.tests["unit", "A.b"] = Entered(1, set())

    def notice(self, text, *tests):
        program = self.tree / stages.own("build/unit_tests")
        program.write_text(f"#!/bin/bash\n{text}")
        program.chmod(0o755)
        return stages.noticed_by("unit", list(tests), self.reach, self.tree)

    def test_a_failure_or_a_crash_is_noticed_and_what_passes_is_not(self):
        self.assertTrue(self.notice("exit 1\n", "A.b"))
        self.assertTrue(self.notice("kill -SEGV $$\n", "A.b"))
        self.assertFalse(self.notice('[ "$GTEST_FILTER" = A.b ]\n', "A.b"))

    def test_one_that_skips_has_noticed(self):
        self.assertTrue(self.notice('echo "[  SKIPPED ] 1 test."\n', "A.b"))

    def test_one_that_always_skips_here_enters_nothing_and_is_never_asked(self):
        skipped, passed = ((("sh", "-c", f"exit {status}"), {}) for status in (77, 0))
        self.assertEqual(ran(*skipped, self.tree, 60, lambda _: {1})[1], set())
        self.assertEqual(ran(*passed, self.tree, 60, lambda _: {1})[1], {1})
        self.assertEqual(self.reach.of("unit", "src/any.cpp", 1, True), [[], []])


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name).resolve()
        (self.tree / "tests/cli").mkdir(parents=True)
        self.reach = Reach(self.tree)

    def script(self, name, text):
        (self.tree / f"tests/cli/{name}.sh").write_text(f"#!/bin/bash\n{text}")
        self.reach.tests["cli", name] = Entered(1, set())

    def notice(self, *names):
        return stages.scripts_notice(list(names), self.reach, self.tree)

    def told(self, name):
        told = self.tree / "told"
        return told.exists() and told.read_text().count(f"tests/cli/{name}.sh")

    def test_one_that_fails_twice_has_noticed(self):
        self.script("fails", f"{SHARED}{TOLD}exit 1\n")
        self.assertTrue(self.notice("fails"))
        self.assertEqual(self.told("fails"), 2)

    def test_one_that_fails_once_or_passes_has_not(self):
        self.script("once", f"{SHARED}{TOLD}[ $(wc -l < told) = 2 ]\n")
        self.script("passes", "exit 0\n")
        self.assertFalse(self.notice("once"))
        self.assertFalse(self.notice("passes"))

    def test_one_that_skips_has_noticed(self):
        self.script("skips", "exit 77\n")
        self.assertTrue(self.notice("skips"))

    def test_those_that_run_alone_come_last_and_only_if_nobody_noticed(self):
        self.script("alone", TOLD)
        self.script("fails", f"{SHARED}exit 1\n")
        self.script("passes", f"{SHARED}{TOLD}")
        self.assertTrue(self.notice("alone", "fails"))
        self.assertFalse(self.told("alone"))
        self.assertFalse(self.notice("alone", "passes"))
        self.assertEqual((self.tree / "told").read_text().split(), ["tests/cli/passes.sh", "tests/cli/alone.sh"])

    def test_the_program_is_named_from_the_root_for_scripts_that_go_elsewhere(self):
        self.script("looks", 'cd /\n[ "$BLKSWEEP" = "' + str(self.tree / stages.OWN / "blksweep") + '" ]\n')
        self.assertFalse(self.notice("looks"))

    def test_of_the_quickest_as_many_as_the_time_allows(self):
        for name, seconds in (("a", 100), ("b", 150), ("c", 100)):
            self.reach.tests["cli", name] = Entered(seconds, set())
        self.assertEqual(stages.within(300, ["a", "b", "c"], self.reach), ["a", "b"])


if __name__ == "__main__":
    unittest.main()
