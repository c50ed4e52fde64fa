"""Figures of traces: what they draw, what they leave out, and that a report has them with and without runs."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts/figures"), str(ROOT / "tests/support")]

import demo_db as demo  # noqa: E402
import load  # noqa: E402
import report  # noqa: E402
import trace_misses  # noqa: E402
import traces  # noqa: E402

CURVES = {"rate": [(at * 1e8, 100.0) for at in range(10)], "depth": [(at * 1e8, 1.5) for at in range(10)],
          "misses": [(2.0**20, 0.5), (2.0**22, 0.1)]}


def add_trace(db, kind="block", curves=("rate", "depth", "misses"), accesses=100, sequential=0.25):
    number = demo.insert(
        db, "trace", trace="/traces/a.trace", trace_kind=kind, requests=100, reads=90, footprint_bytes=4 << 20,
        duration_ns=10**9, gap_variation=1.1, sequential=sequential, miss_ratio_error=0.01, timing="measured", document="{}",
        started_unix_ns=1, hostname="node1", kernel="6.12", tool_version="0.1.0", git_revision="0", argv="blksweep trace stat")
    for name in curves:
        for x, y in CURVES[name]:
            demo.insert(db, "trace_curve", trace_id=number, kind=name, x=x, y=y)
    for at in range(accesses):
        demo.insert(db, "trace_access", trace_id=number, time_ns=at * 10**7, address=float(at % 7 << 20), bytes=4096,
                    op="write" if at % 10 == 0 else "read")
    db.commit()
    return number


class WithTraces(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "traces.db"
        self.db = demo.create(self.path)

    def tearDown(self):
        self.db.close()
        self.folder.cleanup()

    def drawn(self):
        found = report.draw_traces(self.path, pathlib.Path(self.folder.name) / "figures")
        return [svg is not None for _, _, svg, _ in found]

    def test_a_report_of_traces_alone_has_a_table_and_four_figures(self):
        add_trace(self.db)
        add_trace(self.db, kind="file")
        out = pathlib.Path(self.folder.name) / "out"
        out.mkdir()
        self.assertEqual(report.main([str(self.path), "-o", str(out), "--no-runs"]), 0)
        page = (out / "report.html").read_text(encoding="utf-8")
        self.assertIn("2 traces; no runs.", page)
        self.assertEqual(page.count("<svg "), 4)
        for name in ("trace_addresses", "trace_rate", "trace_depth", "trace_misses"):
            self.assertTrue((out / "figures" / f"{name}.pdf").exists(), name)
            self.assertNotIn("mathdefault", (out / "figures" / f"{name}.svg").read_text(encoding="utf-8"))

    def test_what_a_trace_does_not_tell_is_left_out(self):
        add_trace(self.db, curves=("rate",), accesses=0, sequential=None)
        self.assertEqual(self.drawn(), [False, True, False, False])
        self.assertIn("<table", report.trace_table(self.path))

    def test_the_error_of_a_sampled_curve_is_said(self):
        add_trace(self.db)
        one = traces.load_traces(self.path)
        self.assertIn("SHARDS", trace_misses.describe(one))
        self.assertEqual(trace_misses.points(one[0]), [(2.0**20, 0.5), (2.0**22, 0.1)])

    def test_none_is_nothing_to_draw(self):
        with self.assertRaises(load.NothingToDraw):
            traces.load_traces(self.path)

    def test_a_database_older_than_traces_has_none(self):
        for table in ("trace_access", "trace_curve", "trace"):
            self.db.execute(f"DROP TABLE {table}")
        self.db.commit()
        self.assertEqual(self.drawn(), [])


if __name__ == "__main__":
    unittest.main()
