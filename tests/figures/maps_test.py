"""Figures of latency maps: what is loaded and binned, and that a report has them with and without runs."""
import argparse
import pathlib
import random
import struct
import sys
import tempfile
import unittest

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts/figures"), str(ROOT / "tests/support")]

import demo_db as demo  # noqa: E402
import load  # noqa: E402
import map_distance  # noqa: E402
import map_heat  # noqa: E402
import maps  # noqa: E402
import report  # noqa: E402


ROTATION, PATH = 8_333_333, 150_000
LENGTHS = [1 << p for p in range(19, 33)]


def seek(length):
    return 600_000 + 15e6 * (length / LENGTHS[-1]) ** 0.5


def add_map(db, device, rotating=True, parts=("distance",)):
    rng = random.Random(1)
    number = demo.insert(
        db, "map", device=device, device_model="example", kernel="6.12", hostname="node1", size_bytes=8 << 30,
        rotational=1, started_unix_ns=1, seed="1", seconds=60.0, interrupted=0, left_out_by="", path_ns=PATH,
        rotation_ns=ROTATION if rotating else None, tool_version="0.1.0", git_revision="0", argv="blksweep map")
    reads = []
    for length in LENGTHS:
        for sign in (-1, 1):
            for _ in range(50):
                latency = PATH + seek(length) + rng.random() * ROTATION if rotating else 80_000 + rng.random() * 9_000
                reads.append((len(reads), int(latency), 0, sign * length, 4096, 1))
        if rotating:
            for kind in ("seek_backward", "seek_forward"):
                demo.insert(db, "map_curve", map_id=number, kind=kind, x=float(length), y=seek(length))
    reads.append((0, 10**9, 0, 0, 4096, 1))  # no distance: not part of the figures
    for part in parts:
        demo.insert(db, "map_read", map_id=number, part=part, records=len(reads),
                    data=b"".join(struct.pack("<qqQqII", *r) for r in reads))
    return number


class WithMaps(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "maps.db"
        self.db = demo.create(self.path)

    def tearDown(self):
        self.db.close()
        self.folder.cleanup()

    def added(self, *arguments, **options):
        number = add_map(self.db, *arguments, **options)
        self.db.commit()
        return number

    def test_the_newest_map_of_each_device_is_drawn(self):
        self.added("/dev/a")
        newest = self.added("/dev/a")
        other = self.added("/dev/b", rotating=False)
        found = maps.load_maps(self.path)
        self.assertEqual([m.facts["map_id"] for m in found], [newest, other])
        self.assertEqual(found[0].reads, 2 * 50 * len(LENGTHS))
        self.assertEqual(len(found[0].seeks["forward"]), len(LENGTHS))

    def test_maps_without_distances_or_no_maps_are_nothing_to_draw(self):
        with self.assertRaises(load.NothingToDraw):
            maps.load_maps(self.path)
        self.added("/dev/a", parts=("size",))
        with self.assertRaises(load.NothingToDraw):
            maps.load_maps(self.path)

    def test_a_database_older_than_maps_has_none(self):
        for table in ("map_read", "map_curve", "map_warning", "map"):
            self.db.execute(f"DROP TABLE {table}")
        self.db.commit()
        self.assertEqual(maps.newest(self.path), [])
        self.assertEqual(report.draw_maps(self.path, pathlib.Path(self.folder.name)), [])

    def test_each_column_adds_up_to_its_share_inside(self):
        self.added("/dev/a")
        one = maps.load_maps(self.path)[0]
        lengths, rows = map_heat.density(one, -1, map_heat.levels(one))
        self.assertEqual(lengths, LENGTHS)
        for column in range(len(lengths)):
            share = sum(row[column] for row in rows)
            self.assertGreater(share, 0.8)
            self.assertLessEqual(share, 1 + 1e-9)

    def test_curves_are_measured_values_in_order(self):
        self.added("/dev/a")
        one = maps.load_maps(self.path)[0]
        curves = map_distance.curves(one, 1)
        for (x, p50), (_, p90), (_, p99) in zip(curves[0.5], curves[0.9], curves[0.99]):
            self.assertIn(p50, one.latencies[x])
            self.assertTrue(p50 <= p90 <= p99)

    def test_a_report_of_no_runs_is_one_page_with_both_figures(self):
        self.added("/dev/a")
        self.added("/dev/b", rotating=False)
        out = pathlib.Path(self.folder.name) / "out"
        out.mkdir()
        self.assertEqual(report.main([str(self.path), "-o", str(out), "--no-runs"]), 0)
        page = (out / "report.html").read_text(encoding="utf-8")
        self.assertEqual(page.count("<svg"), 2)
        self.assertNotIn("http://x", page)
        caption = (out / "figures/map_heat.txt").read_text(encoding="utf-8")
        self.assertIn("/dev/a", caption)
        self.assertIn("query: SELECT", caption)


class Pure(unittest.TestCase):
    def test_latencies_are_sorted_by_distance_without_those_that_have_none(self):
        blob = b"".join(struct.pack("<qqQqII", 1, latency, 2**63, distance, 5, 6)
                        for latency, distance in ((9, 4), (3, -8), (7, 4), (1, 0)))
        reads = numpy.frombuffer(blob, maps.READ)
        self.assertEqual(maps.by_distance(reads), {-8: [3], 4: [7, 9]})
        self.assertEqual(maps.by_distance(reads[:0]), {})

    def test_percentiles_are_nearest_rank(self):
        values = list(range(1, 101))
        self.assertEqual([maps.percentile(values, s) for s in (0.01, 0.5, 0.9, 0.99, 1)], [1, 50, 90, 99, 100])
        self.assertEqual(maps.percentile([7], 0.5), 7)

    def test_columns_touch(self):
        edges = map_heat.edges([1, 4, 16])
        self.assertEqual(edges, [0.5, 2, 8, 32])


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    unittest.main()
