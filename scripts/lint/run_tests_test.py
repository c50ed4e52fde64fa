"""What scripts/run_tests.py promises of scripts that run beside others."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import run_tests  # noqa: E402


class BesideOthers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.scripts = []

    def script(self, name, body, shared=True):
        path = self.folder / f"{name}.sh"
        path.write_text(f"#!/bin/bash\n{'# Side by side: a test.' if shared else '#'}\n{body}\n")
        self.scripts.append(path)

    def run_all(self):
        printed = io.StringIO()
        with mock.patch.object(run_tests, "ROOT", self.folder), contextlib.redirect_stdout(printed), \
                mock.patch.object(run_tests, "cli_scripts", return_value=self.scripts):
            tally, _ = run_tests.cli(pathlib.Path("build"), [], [])
        return tally, printed.getvalue()

    def test_what_fails_beside_others_is_named_and_asked_again_alone(self):
        self.script("once", f"echo why; [ -e {self.folder}/seen ] || {{ touch {self.folder}/seen; exit 1; }}")
        tally, printed = self.run_all()
        self.assertEqual((tally.passed, tally.failed), (1, 0))
        self.assertIn("once.sh: status 1 beside others", printed)
        self.assertIn("why", printed)

    def test_what_fails_alone_too_is_a_failure(self):
        self.script("always", "exit 1")
        self.script("good", "exit 0")
        tally, _ = self.run_all()
        self.assertEqual((tally.passed, tally.failed), (1, 1))

    def test_a_script_that_runs_alone_is_asked_once(self):
        self.script("alone", f"[ -e {self.folder}/seen ] || {{ touch {self.folder}/seen; exit 1; }}", shared=False)
        tally, _ = self.run_all()
        self.assertEqual((tally.passed, tally.failed), (0, 1))

    def test_a_script_that_fails_in_a_pause_of_the_machine_is_asked_again(self):
        self.script("paused", f"[ -e {self.folder}/seen ] || {{ touch {self.folder}/seen; exit 1; }}", shared=False)
        with mock.patch.object(run_tests, "PAUSE_S", -1.0):
            tally, printed = self.run_all()
        self.assertEqual((tally.passed, tally.failed), (1, 0))
        self.assertIn("the machine stood still", printed)


if __name__ == "__main__":
    unittest.main()
