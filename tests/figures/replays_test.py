"""Figures of replays: which are drawn, and that a report has them with and without runs."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts/figures"), str(ROOT / "tests/support")]

import demo_db as demo  # noqa: E402
import load  # noqa: E402
import replays  # noqa: E402
import report  # noqa: E402


def add_replay(db, verdict="faithful", interrupted=0, fio=False, timed=True, shared=""):
    number = demo.insert(
        db, "replay", key="k", trace="/traces/a.trace", trace_kind="block", target="/dev/loop0", disk="loop0", timing="original",
        addresses="as-is", verdict=verdict, reason="", shared=shared, speed=1.0, depth=128, depth_mean=1.5, requests=1000, bytes=4096000, writes=0,
        left_out=3, failed=0, length_ns=10**9, late_p50_ns=400, late_p99_ns=40_000, late_p999_ns=90_000, late_max_ns=10**6,
        tool_p50_ns=400, tool_p99_ns=40_000, tool_p999_ns=90_000, tool_max_ns=10**6, device_p99_ns=0,
        fio_version="fio-3.33" if fio else "", fio_p50_ns=10**6 if fio else None, fio_p99_ns=10**9 if fio else None,
        document="{}", started_unix_ns=1, interrupted=interrupted, hostname="node1", kernel="6.12", tool_version="0.1.0",
        git_revision="0", argv="blksweep replay")
    for kind in ("late", "late_tool", "latency") + (("late_driver", "late_fio") if fio else ()):
        for x, y in ((0, 10), (400, 700), (40_000, 290)):
            demo.insert(db, "replay_curve", replay_id=number, kind=kind, x=float(x), y=float(y))
    for window in range(10):
        for kind in ("due", "issued"):
            y = 100.0 if kind == "issued" or timed else 0.0
            demo.insert(db, "replay_curve", replay_id=number, kind=kind, x=window * 1e8, y=y)
    db.commit()
    return number


class WithReplays(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "replays.db"
        self.db = demo.create(self.path)

    def tearDown(self):
        self.db.close()
        self.folder.cleanup()

    def test_unfaithful_interrupted_and_disturbed_replays_are_in_no_figure(self):
        good = add_replay(self.db)
        add_replay(self.db, verdict="unfaithful")
        add_replay(self.db, interrupted=1)
        held = add_replay(self.db, verdict="held_back")
        add_replay(self.db, shared="others read 9 MiB from loop0")
        self.assertEqual([r.facts["replay_id"] for r in replays.load_replays(self.path)], [good, held])
        self.assertEqual(len(replays.everything(self.path)), 5)

    def test_replays_at_other_speeds_and_depths_have_other_names(self):
        for settings in ("speed = 4.0", "depth = 16", "addresses = 'scale'", """document = '{"cell": {"direct": false, "awake": true}}'"""):
            self.db.execute(f"UPDATE replay SET {settings} WHERE replay_id = {add_replay(self.db)}")
        self.db.commit()
        self.assertEqual([r.title() for r in replays.load_replays(self.path)],
                         ["1: a.trace, original x4, depth 128", "2: a.trace, original, depth 16",
                          "3: a.trace, original, depth 128, scale", "4: a.trace, original, depth 128, buffered, awake"])

    def test_none_that_bears_a_figure_is_nothing_to_draw(self):
        with self.assertRaises(load.NothingToDraw):
            replays.load_replays(self.path)
        add_replay(self.db, verdict="unfaithful")
        with self.assertRaises(load.NothingToDraw):
            replays.load_replays(self.path)

    def test_shares_add_up(self):
        add_replay(self.db)
        xs, shares = replays.cumulative(replays.load_replays(self.path)[0].curves["late"])
        self.assertEqual(xs, [0, 400, 40_000])
        self.assertEqual(shares, [0.01, 0.71, 1.0])

    def test_a_report_of_replays_alone_has_a_table_and_three_figures(self):
        add_replay(self.db, fio=True)
        add_replay(self.db, verdict="unfaithful")
        out = pathlib.Path(self.folder.name) / "out"
        out.mkdir()
        self.assertEqual(report.main([str(self.path), "-o", str(out), "--no-runs"]), 0)
        page = (out / "report.html").read_text(encoding="utf-8")
        self.assertIn("2 replays; no runs.", page)
        self.assertIn("unfaithful", page)
        self.assertEqual(page.count("<svg "), 3)
        for name in ("replay_lateness", "replay_rate", "replay_latency"):
            self.assertTrue((out / "figures" / f"{name}.pdf").exists(), name)
        self.assertNotIn("mathdefault", (out / "figures/replay_lateness.svg").read_text(encoding="utf-8"))

    def test_without_times_there_is_no_figure_of_the_rate(self):
        add_replay(self.db, timed=False)
        drawn = report.draw_replays(self.path, pathlib.Path(self.folder.name) / "figures")
        self.assertEqual([svg is not None for _, _, svg, _ in drawn], [True, False, True])

    def test_a_database_older_than_replays_has_none(self):
        for table in ("replay_curve", "replay"):
            self.db.execute(f"DROP TABLE {table}")
        self.db.commit()
        self.assertEqual(report.draw_replays(self.path, pathlib.Path(self.folder.name)), [])


if __name__ == "__main__":
    unittest.main()
