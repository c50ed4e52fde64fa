"""Lanes and utilisation: which runs and intervals are drawn, on made-up runs with known answers."""
import argparse
import contextlib
import pathlib
import random
import shutil
import sqlite3
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts/figures"), str(ROOT / "tests/support")]

import demo_db as demo  # noqa: E402
import epochs  # noqa: E402
import lanes  # noqa: E402
import load  # noqa: E402
import overlap  # noqa: E402
import report  # noqa: E402
import utilisation  # noqa: E402


def cell(cell_id, label="lba"):
    return load.Cell(cell_id, label, False, 3, {}, {})


class WithRuns(unittest.TestCase):
    OPTIONS = ["--consumer", "--no-probe", "--no-fio", "--cells", "3", "--incomplete", "1"]

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.db = pathlib.Path(cls.folder.name) / "results.db"
        demo.main([str(cls.db), *cls.OPTIONS])
        cls.cells = [cell(n + 1, name) for n, name in enumerate(["random", "inode", "lba"])]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()


class Lanes(WithRuns):
    def test_the_repeat_with_the_median_epoch_stands_for_its_cell(self):
        runs = [(1, 0, 0, 500), (2, 1, 0, 100), (3, 2, 0, 300)]
        self.assertEqual(epochs.median_run(runs)[0], 3)
        self.assertEqual(epochs.median_run(runs[:2])[0], 2)
        panels = lanes.load(self.db, self.cells)["panels"]
        for of_cell in epochs.runs_by_cell(self.db, self.cells).values():
            self.assertEqual(len(of_cell), 3, "an incomplete run is not counted")
        self.assertEqual(sorted(panels), [1, 2, 3])

    def test_every_batch_is_in_every_lane_and_waits_exactly_in_between(self):
        run = epochs.median_run(epochs.runs_by_cell(self.db, self.cells)[1])
        found = {lane: {batch: (b, e) for b, e, batch in epochs.intervals(self.db, run, lane)}
                 for lane in epochs.STAGES}
        self.assertEqual(found.pop("decode"), {}, "these samples came as they are stored")
        self.assertEqual(found.pop("release"), {}, "their copies took nothing that is given back")
        for lane, batches in found.items():
            self.assertEqual(len(batches), demo.SAMPLES // demo.BATCH, lane)
        for batch, (begin, end) in found["window"].items():
            self.assertEqual(begin, found["read"][batch][1])
            self.assertEqual(end, found["copy"][batch][0])

    def passed(self, run, gap):
        """(batch, end of its read, begin of its copy) of the first that waited longer than `gap` ns in between."""
        return load.rows(self.db, "SELECT position, r.end_ns, c.begin_ns FROM batch_stage r JOIN batch_stage c "
                         "USING (run_id, position) WHERE run_id = ? AND r.stage = 'read' AND c.stage = 'copy' "
                         "AND c.begin_ns > r.end_ns + ? ORDER BY position", [run[0], gap])[0]

    def test_decoding_is_a_lane_that_ends_the_wait_in_the_window(self):
        run = epochs.median_run(epochs.runs_by_cell(self.db, self.cells)[1])
        batch, ready, copied = self.passed(run, 1)
        middle = (ready + copied) // 2
        decoded = self.db.with_name("decoded.db")
        shutil.copy(self.db, decoded)
        with contextlib.closing(sqlite3.connect(decoded)) as db, db:
            db.execute("INSERT INTO batch_stage VALUES (?, ?, 'decode', ?, ?, ?)",
                       [run[0], batch, middle, middle, copied])
        window = {b: end for _, end, b in epochs.intervals(decoded, run, "window")}
        decode = epochs.intervals(decoded, run, "decode")
        self.assertEqual(decode, [((middle - run[2]) / 1e9, (copied - run[2]) / 1e9, batch)])
        self.assertEqual(window[batch], decode[0][0])

    def test_copying_lasts_from_when_a_batch_is_taken_up_until_the_stage_is_through(self):
        run = epochs.median_run(epochs.runs_by_cell(self.db, self.cells)[1])
        batch, _, begin = self.passed(run, 7)
        end = load.rows(self.db, "SELECT end_ns FROM batch_stage WHERE run_id = ? AND position = ? AND stage = 'copy'",
                        [run[0], batch])[0][0]
        staged = self.db.with_name("staged.db")
        shutil.copy(self.db, staged)
        with contextlib.closing(sqlite3.connect(staged)) as db, db:
            db.execute("INSERT INTO batch_stage VALUES (?, ?, 'transfer', ?, ?, ?)",
                       [run[0], batch, begin, begin, end])
            db.execute("UPDATE batch_stage SET begin_ns = begin_ns - 7, end_ns = end_ns + 9 "
                       "WHERE run_id = ? AND position = ? AND stage = 'copy'", [run[0], batch])
        copies = {b: (at, until) for at, until, b in epochs.intervals(staged, run, "copy")}
        window = {b: until for _, until, b in epochs.intervals(staged, run, "window")}
        self.assertEqual(copies[batch], ((begin - 7 - run[2]) / 1e9, (end + 9 - run[2]) / 1e9))
        self.assertEqual(window[batch], copies[batch][0])
        untouched = {b: (at, until) for at, until, b in epochs.intervals(self.db, run, "copy")}
        self.assertEqual({b: s for b, s in copies.items() if b != batch},
                         {b: s for b, s in untouched.items() if b != batch})

    def test_giving_back_is_a_lane_of_its_own_behind_copying(self):
        run = epochs.median_run(epochs.runs_by_cell(self.db, self.cells)[1])
        released = self.db.with_name("released.db")
        shutil.copy(self.db, released)
        with contextlib.closing(sqlite3.connect(released)) as db, db:
            db.execute("INSERT INTO batch_stage SELECT run_id, position, 'release', end_ns, end_ns, end_ns + 1000 FROM batch_stage "
                       "WHERE run_id = ? AND stage = 'copy'", [run[0]])
        found = lanes.load(released, self.cells)
        copies = {b: end for _, end, b in epochs.intervals(released, run, "copy")}
        for begin, end, batch in epochs.intervals(released, run, "release"):
            self.assertEqual(begin, copies[batch])
            self.assertAlmostEqual(end - begin, 1e-6)
        self.assertEqual(list(found["panels"][1]["whole"]), ["read", "window", "copy", "release", "compute"])
        self.assertNotIn("release", found["panels"][2]["whole"])
        self.assertIn("Release: ", lanes.describe(found, self.cells))
        self.assertNotIn("Release: ", lanes.describe(lanes.load(self.db, self.cells), self.cells))
        lanes.draw(found, self.cells, None)

    def test_the_whole_epoch_shows_the_share_that_the_run_recorded(self):
        panels = lanes.load(self.db, self.cells)["panels"]
        for cell_id, shown in panels.items():
            recorded = load.rows(self.db, "SELECT utilisation FROM run WHERE cell_id = ? AND repeat = ?",
                                 [cell_id, shown["repeat"]])[0][0]
            self.assertAlmostEqual(shown["share"]["compute"], recorded, places=9)
            for lane, (edges, heights) in shown["whole"].items():
                filled = sum((e - b) * h for b, e, h in zip(edges, edges[1:], heights))
                self.assertAlmostEqual(filled / shown["epoch_s"], shown["share"][lane], places=9)

    def test_close_up_shows_all_that_reaches_into_the_middle_and_says_how_many_it_leaves_out(self):
        found = lanes.load(self.db, self.cells)
        for shown in found["panels"].values():
            begin, end = shown["window"]
            self.assertEqual(shown["shown"], lanes.SHOWN_BATCHES)
            # Computation takes turns: besides the shown ones only those that touch the ends.
            self.assertLessEqual(abs(len(shown["close"]["compute"]) - lanes.SHOWN_BATCHES), 2)
            for spans in shown["close"].values():
                self.assertTrue(all(b <= end and e >= begin for b, e, _, _ in spans))
        batches = 3 * (demo.SAMPLES // demo.BATCH - lanes.SHOWN_BATCHES)
        self.assertIn(f"{batches} further batches", lanes.describe(found, self.cells))

    def test_of_a_peer_only_what_is_known_is_a_lane(self):
        other = pathlib.Path(self.folder.name) / "peer.db"
        shutil.copy(self.db, other)
        with contextlib.closing(sqlite3.connect(other)) as db, db:
            db.execute("UPDATE batch_stage SET begin_ns = end_ns WHERE stage = 'read' AND run_id IN "
                       "(SELECT run_id FROM run WHERE cell_id = 1)")
        panels = lanes.load(other, self.cells)["panels"]
        self.assertEqual(list(panels[1]["whole"]), ["copy", "compute"])
        self.assertEqual(panels[1]["batches"], demo.SAMPLES // demo.BATCH)
        self.assertIn("read", panels[2]["whole"])

    def test_cells_beyond_what_fits_are_counted(self):
        most, lanes.MOST_CELLS = lanes.MOST_CELLS, 2
        try:
            found = lanes.load(self.db, self.cells)
        finally:
            lanes.MOST_CELLS = most
        self.assertEqual(sorted(found["panels"]), [1, 2])
        self.assertIn("1 further cell not shown", lanes.describe(found, self.cells))

    def test_epochs_of_very_different_length_have_scales_of_their_own(self):
        alike = [{"epoch_s": 1.0}, {"epoch_s": 3.9}]
        self.assertEqual([lanes.scale_of(alike)(p) for p in alike], [3.9, 3.9])
        apart = [{"epoch_s": 1.0}, {"epoch_s": 120.0}]
        self.assertEqual([lanes.scale_of(apart)(p) for p in apart], [1.0, 120.0])

    def test_both_figures_are_part_of_a_report(self):
        names = [name for name, *_ in report.wanted(self.cells)]
        self.assertIn("lanes", names)
        self.assertIn("utilisation", names)


class Overlap(WithRuns):
    def test_every_repeat_is_shown_as_its_share_of_the_epoch(self):
        found = overlap.load(self.db, self.cells)
        for cell_id, shares in found.items():
            recorded = load.rows(self.db, "SELECT exposed_ns, epoch_ns FROM good_run JOIN overlap USING (run_id) "
                                 "WHERE cell_id = ? ORDER BY repeat", [cell_id])
            self.assertEqual(shares, [exposed / epoch for exposed, epoch in recorded])
        self.assertEqual(sorted(found), [1, 2, 3])
        self.assertIn("1 cell without a copy stage", overlap.describe(found, [*self.cells, cell(9)]))
        self.assertIn("overlap", [name for name, *_ in report.wanted(self.cells)])

    def test_without_a_consumer_nothing_is_drawn(self):
        with self.assertRaises(load.NotApplicable):
            overlap.load(self.db, [cell(9)])

    def test_what_is_hidden_stands_beside_the_row(self):
        share = load.Cell(1, "lba", False, 3, {"hidden_transfer": 0.982}, {})
        self.assertEqual(overlap.hidden(share), "98.2 % hidden")
        self.assertEqual(overlap.hidden(cell(1)), "")


class Utilisation(WithRuns):
    def test_a_curve_per_repeat_whose_mean_is_the_utilisation_of_the_run(self):
        found = utilisation.load(self.db, self.cells)
        for cell_id, repeats in found.items():
            self.assertEqual(len(repeats), 3)
            recorded = [u for u, in load.rows(self.db, "SELECT utilisation FROM good_run WHERE cell_id = ? "
                                              "ORDER BY repeat", [cell_id])]
            for curve, of_run in zip(repeats, recorded):
                self.assertTrue(all(0 <= v <= 100 for v in curve))
                self.assertAlmostEqual(sum(curve) / len(curve), 100 * of_run, places=6)

    def test_a_bin_holds_several_batches(self):
        self.assertEqual(utilisation.bins_for(10), utilisation.LEAST_BINS)
        self.assertEqual(utilisation.bins_for(10**6), utilisation.MOST_BINS)
        self.assertEqual(utilisation.bins_for(80), 80 // utilisation.BATCHES_A_BIN)


class WithoutConsumer(WithRuns):
    OPTIONS = ["--no-probe", "--no-fio", "--cells", "3", "--repeats", "1"]

    def test_neither_figure_is_applicable(self):
        for module in (lanes, overlap, utilisation):
            with self.assertRaises(load.NotApplicable):
                module.load(self.db, self.cells)


class Pure(unittest.TestCase):
    def test_a_lane_of_many_batches_is_drawn_as_shares_with_the_same_area(self):
        spans = [(n / 1000, n / 1000 + 0.0005, n) for n in range(1000)]
        edges, heights = lanes.profile(spans, 1.0, 1000)
        self.assertLessEqual(len(heights), lanes.MOST_BARS)
        self.assertEqual(len(edges), len(heights) + 1)
        self.assertAlmostEqual(sum(heights) / len(heights), lanes.share(spans, 1.0), places=9)
        self.assertEqual(lanes.profile(spans[:2], 1.0, 2), ([0.0, 0, 0.0005, 0.001, 0.0015, 1.0], [0, 1, 0, 1, 0]))

    def test_union_of_overlapping_touching_and_apart(self):
        self.assertEqual(epochs.union([(0, 2, 0), (1, 3, 1), (3, 4, 2), (6, 7, 3)]), [(0, 4), (6, 7)])

    def test_busy_shares_of_known_intervals(self):
        self.assertEqual(epochs.busy_shares([(0, 5, 0), (4, 6, 1)], 10, 5), [1.0, 1.0, 1.0, 0.0, 0.0])
        self.assertEqual(epochs.busy_shares([(9, 12, 0)], 10, 5), [0, 0, 0, 0, 0.5])
        self.assertEqual(epochs.busy_shares([], 10, 2), [0, 0])

    def test_rows_never_overlap(self):
        random.seed(1)
        spans = sorted((b, b + random.random() * 9, n) for n, b in
                       enumerate(random.random() * 100 for _ in range(300)))
        last = {}
        for begin, end, _, row in epochs.rows(spans):
            self.assertLessEqual(last.get(row, 0), begin)
            last[row] = end

    def test_excerpt_is_the_middle_or_everything(self):
        spans = [(n, n + 1, n) for n in range(20)]
        self.assertEqual(epochs.excerpt(spans, 4), (8, 8, 12))
        self.assertEqual(epochs.excerpt(spans[:3], 10), (0, 0, 3))


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    unittest.main()
