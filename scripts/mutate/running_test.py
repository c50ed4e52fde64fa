"""A command of a campaign is bounded and leaves nothing."""
import os
import pathlib
import tempfile
import threading
import time
import unittest

import running


def state_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0]
    except FileNotFoundError:
        return None


def ended(pid):
    """Killed is not yet gone: on a busy machine it first has to get its turn."""
    give_up = time.monotonic() + 60
    while state_of(pid) not in (None, "Z") and time.monotonic() < give_up:
        time.sleep(0.02)
    return state_of(pid) in (None, "Z")


class Running(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def told(self):
        return (pathlib.Path(self.folder.name) / "told").read_text().split()

    def test_a_command_that_loops_is_ended_by_its_time_of_the_cpu(self):
        self.assertNotEqual(running.bounded(("sh", "-c", "while :; do :; done"), self.folder.name, 60, 1), None)

    def test_one_that_kills_itself_has_failed(self):
        self.assertNotIn(running.bounded(("sh", "-c", "kill -TERM $$; sleep 600"), self.folder.name, 30, 60), (0, None))

    def test_one_that_waits_is_ended_with_what_it_began(self):
        self.assertIsNone(running.ended(("sh", "-c", "sleep 600 & echo $! > told; wait"), self.folder.name, 1))
        self.assertTrue(ended(self.told()[0]))

    def test_one_that_nobody_needs_any_more_is_ended(self):
        needless = threading.Event()
        threading.Timer(0.3, needless.set).start()
        begin = time.monotonic()
        self.assertIsNone(running.ended(("sleep", "600"), self.folder.name, 600, needless=needless))
        self.assertLess(time.monotonic() - begin, 300)

    def test_files_are_gone(self):
        running.bounded(("sh", "-c", "mktemp > told; echo $TMPDIR >> told"), self.folder.name, 60, 60)
        file, folder = self.told()
        self.assertTrue(file.startswith(folder))
        self.assertFalse(os.path.exists(folder))

    def test_stop_ends_what_runs_and_lets_nothing_begin(self):
        self.addCleanup(running.STOP.clear)
        threading.Timer(0.3, running.STOP.set).start()
        begin = time.monotonic()
        with self.assertRaises(running.Interrupted):
            running.ended(("sh", "-c", "echo $$ > told; sleep 600"), self.folder.name, 600)
        self.assertLess(time.monotonic() - begin, 300)
        self.assertTrue(ended(self.told()[0]))
        with self.assertRaises(running.Interrupted):
            running.ended(("true",), self.folder.name, 600)


class DeadLoops(unittest.TestCase):
    def test_are_those_whose_file_no_mount_leads_to(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("loop1", "/data"), ("loop2", "/run/blksweep/disks/d/io/data"), ("loop3", "/tmp/data")):
                file = pathlib.Path(folder) / name / "loop/backing_file"
                file.parent.mkdir(parents=True)
                file.write_text(f"{text}\n")
            self.assertEqual(running.dead_loops(folder), ["/dev/loop1"])


class Groups(unittest.TestCase):
    def test_that_were_made_meanwhile_are_removed_unless_they_are_in_use(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "blkio/blksweep-1").mkdir(parents=True)
            with running.groups_removed(root):
                for name in ("blksweep-2", "blkio/blksweep-3", "blkio/others", "blksweep-4/used"):
                    (root / name).mkdir(parents=True)
            left = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_dir())
            self.assertEqual(left, ["blkio", "blkio/blksweep-1", "blkio/others", "blksweep-4", "blksweep-4/used"])


class Queues(unittest.TestCase):
    def test_are_as_they_were_whatever_happens(self):
        with tempfile.TemporaryDirectory() as folder:
            queue = pathlib.Path(folder) / "loop3/queue"
            queue.mkdir(parents=True)
            for name, text in (("scheduler", "[none] bfq\n"), ("nr_requests", "128\n"), ("discard_max_bytes", "0\n"), ("fixed", "1\n")):
                (queue / name).write_text(text)
            (queue / "fixed").chmod(0o444)
            with self.assertRaises(KeyboardInterrupt), running.queues_put_back(folder):
                for name in ("scheduler", "nr_requests", "discard_max_bytes"):
                    (queue / name).write_text("bfq 7\n")
                raise KeyboardInterrupt
            self.assertEqual([(queue / name).read_text() for name in ("scheduler", "nr_requests", "discard_max_bytes", "fixed")],
                             ["none", "128", "bfq 7\n", "1\n"])

    def test_of_a_device_that_is_somebodys_stay_as_he_has_them(self):
        with tempfile.TemporaryDirectory() as folder:
            loop = pathlib.Path(folder) / "loop3"
            for name in ("queue", "loop"):
                (loop / name).mkdir(parents=True)
            file, backing = loop / "queue/nr_requests", loop / "loop/backing_file"
            for before, after in ((True, False), (False, True), (True, True)):
                file.write_text("128\n")
                backing.touch() if before else backing.unlink(missing_ok=True)
                with running.queues_put_back(folder):
                    backing.touch() if after else backing.unlink(missing_ok=True)
                    file.write_text("64\n")
                self.assertEqual(file.read_text(), "64\n", (before, after))


if __name__ == "__main__":
    unittest.main()
