"""Figures that are drawn side by side: all of them, in order, and no process that outlives whoever wanted them."""
import os
import pathlib
import signal
import subprocess
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIGURES = str(ROOT / "scripts/figures")
sys.path[:0] = [FIGURES]

import load  # noqa: E402
import side_by_side  # noqa: E402

# Tells its processes and draws for longer than anybody waits.
ENDLESS = """
import os, sys, time
sys.path[:0] = [sys.argv[1]]
os.sched_getaffinity = lambda process: range(3)
import side_by_side
def draw(item):
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(600)
side_by_side.mapped(draw, [1, 2, 3])
"""


def mapped(function, items, cpus=3):
    with mock.patch("os.sched_getaffinity", lambda process: range(cpus)):
        return side_by_side.mapped(function, items)


class SideBySide(unittest.TestCase):
    def test_each_item_has_its_result_in_its_place(self):
        for cpus in range(1, 5):
            for count in range(6):
                self.assertEqual(mapped(lambda item: item * item, list(range(count)), cpus), [n * n for n in range(count)])

    def test_they_are_drawn_by_as_many_processes_as_there_are_cpus(self):
        self.assertEqual(len(set(mapped(lambda item: os.getpid(), list(range(9)), 3))), 3)
        self.assertEqual(len(set(mapped(lambda item: os.getpid(), list(range(20)), 64))), side_by_side.MOST)

    def test_what_one_raises_is_raised_whoever_drew_it(self):
        def draw(item):
            if item == bad:
                raise load.Unwritten(f"figure {item}")
        for bad in range(3):
            with mock.patch("traceback.print_exc"), self.assertRaisesRegex(load.Unwritten, f"^figure {bad}$"):
                mapped(draw, [0, 1, 2])
        with self.assertRaises(ChildProcessError):  # all have been waited for
            os.waitpid(-1, os.WNOHANG)

    def test_a_process_that_is_killed_is_told(self):
        def draw(item):
            if item == 1:
                os.kill(os.getpid(), signal.SIGKILL)
        with self.assertRaisesRegex(load.Unwritten, "was ended"):
            mapped(draw, [0, 1, 2])

    def test_without_another_process_or_thread_this_one_draws_all(self):
        with mock.patch("os.fork", side_effect=BlockingIOError), mock.patch("threading.Thread.start", side_effect=RuntimeError):
            self.assertEqual(mapped(lambda item: (item, os.getpid()), [0, 1, 2]), [(n, os.getpid()) for n in range(3)])

    def test_none_outlives_a_process_that_is_killed(self):
        with subprocess.Popen([sys.executable, "-c", ENDLESS, FIGURES], stdout=subprocess.PIPE) as drawing:
            processes = {int(drawing.stdout.readline()) for _ in range(3)}
            drawing.kill()
            for process in processes - {drawing.pid}:
                self.addCleanup(self.no_more, process)
            self.assertEqual(drawing.stdout.read(), b"")  # when the last has closed it
        self.assertEqual(len(processes), 3)

    @staticmethod
    def no_more(process):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


if __name__ == "__main__":
    unittest.main()
