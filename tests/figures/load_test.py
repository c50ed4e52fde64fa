"""The pure parts of scripts/figures: what is loaded, left out and written, without drawing."""
import argparse
import contextlib
import dataclasses
import errno
import io
import pathlib
import shutil
import sqlite3
import struct
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts/figures"), str(ROOT / "tests/support")]

import common  # noqa: E402
import demo_db as demo  # noqa: E402
import depth  # noqa: E402
import disks  # noqa: E402
import first_batch  # noqa: E402
import load  # noqa: E402
import numpy  # noqa: E402
import order  # noqa: E402
import page  # noqa: E402
import quality  # noqa: E402
import report  # noqa: E402
import sawtooth  # noqa: E402
import sizes  # noqa: E402
import throughput  # noqa: E402


def cell(cell_id, label="lba", baseline=False, runs=3, settings=None, verdict="", **values):
    if values.get("ratio") is not None:
        values.setdefault("pairs", runs)
    return load.Cell(cell_id, label, baseline, runs, values, settings or {}, verdict)


class WithDatabase(unittest.TestCase):
    OPTIONS = []

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.db = pathlib.Path(cls.folder.name) / "results.db"
        demo.main([str(cls.db), *cls.OPTIONS])
        cls.cells = [cell(n + 1, " + ".join(spec[:2])) for n, spec in enumerate(demo.CELLS)]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()


class Loading(WithDatabase):
    OPTIONS = ["--incomplete", "2"]

    def test_throughput_has_every_complete_repeat_and_no_other(self):
        found = throughput.load(self.db, self.cells)
        self.assertEqual({k: len(v) for k, v in found["ours"].items()}, {n: 3 for n in range(1, 9)})
        self.assertEqual(len(found["fio"][1]), 3)

    def test_only_the_cells_that_are_asked_for(self):
        self.assertEqual(list(throughput.load(self.db, self.cells[2:3])["ours"]), [3])

    def test_the_newest_run_of_a_repeat_counts(self):
        with load.connect(self.db) as db:
            newest = db.execute("SELECT count(*) FROM good_run WHERE cell_id = 1").fetchone()[0]
        self.assertEqual(newest, 3)

    def test_facts_say_what_was_left_out_and_why(self):
        facts = load.load_facts(self.db, self.cells)
        self.assertEqual(facts.counted, 24)
        self.assertEqual([(label, why) for label, _, why in facts.left_out],
                         [("random + none", "12 probe events lost"), ("inode + none", "12 probe events lost")])
        self.assertIn("2 incomplete runs left out", common.caption("Text.", "SELECT 1", facts))

    def test_captions_say_method_level_and_n_of_what_has_an_interval(self):
        cells = [cell(1, "random", baseline=True, runs=10), cell(2, "lba", runs=8, ratio=2, ratio_low=1.9, ratio_high=2.1),
                 cell(3, "inode", runs=10, ratio=1.1, ratio_low=1.0, ratio_high=1.2)]
        text = throughput.describe({"fio": {}}, cells)
        for word in ("n = 8 to 10 repeats", "geometric mean", "n = 8 to 10 pairs", "95 % interval", "Student's t"):
            self.assertIn(word, text)
        self.assertNotIn("95 %", throughput.describe({"fio": {}}, cells[:1]))

    def test_captions_say_that_rounds_were_added_until_intervals_were_narrow(self):
        facts = load.load_facts(self.db, self.cells)
        self.assertEqual(facts.stopping, ())
        self.assertNotIn("added until", common.caption("Text.", "SELECT 1", facts))
        stopped = dataclasses.replace(facts, stopping=(0.02, 37, 4, 4, 0.019, "lba / random", "precision"))
        self.assertIn("after 37 of them 4 of 4 within 2.0%, the widest 1.9% (lba / random)",
                      common.caption("Text.", "SELECT 1", stopped))
        self.assertIn("added until", " ".join(page.result_notes(self.cells, stopped)))

    def test_facts_know_the_rule_of_the_last_session_that_had_one(self):
        with tempfile.TemporaryDirectory() as folder:
            db = pathlib.Path(folder) / "copy.db"
            shutil.copy(self.db, db)
            with contextlib.closing(sqlite3.connect(db)) as made:
                session = made.execute("SELECT max(session_id) FROM session").fetchone()[0]
                made.execute("INSERT INTO stopping VALUES (?, 0.02, 10, 100, NULL, 12, 7, 3, NULL, '', NULL)", [session])
                made.commit()
            self.assertEqual(load.load_facts(db, self.cells).stopping, (0.02, 12, 7, 3, None, "", None))

    def test_facts_say_what_the_disk_stands_on(self):
        facts = load.load_facts(self.db, self.cells)
        self.assertEqual([(name, value) for _, name, value in facts.layers],
                         [("kind", "loop"), ("direct_io", "1"), ("rotational", "0")])
        self.assertIn("direct io: 1; rotational: 0", page.layers(facts))

    def test_the_ceiling_is_the_median_of_its_rounds_with_their_spread(self):
        facts = load.load_facts(self.db, self.cells)
        ceiling = load.sequential_ceiling(facts)
        self.assertEqual((ceiling.kind, ceiling.depth, ceiling.rounds, ceiling.median), ("sequential", 32, 3, 2.7e9))
        self.assertAlmostEqual(ceiling.least, 0.9 * 2.7e9)
        self.assertAlmostEqual(ceiling.greatest, 1.4 * 2.7e9)

    def test_series_begin_at_the_epoch_and_stay_within_it(self):
        for kind in ("depth", "issue"):
            for _, epoch, seconds, _ in load.first_series(self.db, self.cells, kind):
                self.assertGreaterEqual(seconds[0], 0)
                self.assertLessEqual(seconds[-1], epoch)

    def test_depth_bins_hold_least_mean_and_greatest(self):
        _, driver, scheduler = depth.load(self.db, self.cells)[1]
        self.assertLessEqual(len(driver), depth.BINS)
        self.assertTrue(all(low <= mean <= high for _, low, mean, high in driver))
        self.assertEqual({row[3] for row in scheduler}, {0})

    def test_sizes_are_shares_that_add_up(self):
        for shares, requests in sizes.load(self.db, self.cells).values():
            self.assertAlmostEqual(sum(shares.values()), 1.0)
            self.assertGreater(requests, 0)

    def test_first_batch_and_sawtooth_know_all_cells(self):
        self.assertEqual(len(first_batch.load(self.db, self.cells)), 8)
        self.assertEqual(len(sawtooth.load(self.db, self.cells)), 8)

    def test_order_sets_what_was_issued_against_what_was_intended(self):
        gib = 1 << 21  # sectors
        rows = [(1, 3 * gib, 4096, 9, 2, 0), (2, gib, 4096, 9, 0, 0), (3, 9 * gib, 4096, 9, order.UNKNOWN, order.UNKNOWN),
                (4, 2 * gib, 4096, 9, 1, 0), (5, 7 * gib, 4096, 9, 0, 0)]  # the last: read 0 once more
        intended, issued = order.places(numpy.array(rows, load.RECORDS["issue"]))
        self.assertEqual(intended.tolist(), [1, 2, 3])
        self.assertEqual(issued.tolist(), [3, 1, 2])
        self.assertEqual(len(order.load(self.db, self.cells)), 8)
        far = numpy.array([900.0, 901.0])
        low, high = order.draw({1: (far, far, 1)}, self.cells, None).axes[0].get_ylim()
        self.assertLess(high - low, 2)  # data far in fill their panel

    def test_requests_of_a_full_log_stand_at_their_places(self):
        self.assertEqual([order.stride(160_002, records) for records in (80_001, 79_998, 300)], [2, 2, 1])
        self.assertEqual(order.load(self.db, self.cells[:1])[1][2], 1)
        shown = {1: (numpy.array([1.0, 2.0]), numpy.array([2.0, 1.0]), 4)}
        drawn = order.draw(shown, self.cells[:1], None).axes[0].collections[0].get_offsets()
        self.assertEqual(drawn[:, 0].tolist(), [0, 4])
        self.assertIn("one in 4", order.describe(shown, self.cells[:1]))

    def test_a_database_is_never_created(self):
        with self.assertRaises(Exception):
            load.rows(self.db.with_name("none.db"), "SELECT 1")
        self.assertFalse(self.db.with_name("none.db").exists())

    def test_one_disk_has_no_figure_of_disks(self):
        with self.assertRaises(load.NotApplicable):
            disks.load(self.db, self.cells)


class WithoutProbeOrFio(WithDatabase):
    OPTIONS = ["--no-probe", "--no-fio", "--repeats", "1"]

    def test_probe_figures_say_that_there_is_nothing(self):
        for module in (depth, sawtooth, sizes):
            with self.assertRaises(load.NothingToDraw):
                module.load(self.db, self.cells)

    def test_throughput_goes_without_fio(self):
        found = throughput.load(self.db, self.cells)
        self.assertEqual(found["fio"], {})
        self.assertIn("No fio twin", throughput.describe(found, self.cells))


class TwoDisks(WithDatabase):
    OPTIONS = ["--disks", "2", "--cells", "3", "--no-probe", "--predict"]

    def setUp(self):
        self.cells = [cell(n + 1, f"{disk} + {demo.CELLS[n % 3][0]}", baseline=n % 3 == 0,
                           settings={"disk": disk}, ratio=2.0)
                      for n, disk in enumerate(["fast"] * 3 + ["slow"] * 3)]

    def test_ratios_are_to_the_baseline_of_the_same_disk(self):
        found = disks.load(self.db, self.cells)
        self.assertEqual(set(found[1]) | set(found[4]), {1.0})
        self.assertLess(max(found[3]), 3)
        self.assertGreater(min(found[6]), 10)

    def test_runs_of_different_sessions_are_no_pairs(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        other = pathlib.Path(folder.name) / "split.db"
        other.write_bytes(self.db.read_bytes())
        db = sqlite3.connect(other)
        db.execute("INSERT INTO session (experiment_id, started_unix_ns, argv) VALUES (1, 2, 'again')")
        db.execute("UPDATE run SET session_id = (SELECT max(session_id) FROM session) WHERE cell_id = 3 AND repeat = 0")
        db.commit()
        db.close()
        self.assertEqual([len(disks.load(p, self.cells)[3]) for p in (self.db, other)], [3, 2])
        self.assertEqual(len(load.load_facts(other, self.cells).sessions[0][1]), 2)

    def test_every_figure_names_its_disk_and_that_it_is_emulated(self):
        facts = load.load_facts(self.db, self.cells)
        self.assertIn("loop1, emulated hdd-7200 x1, ext4", common.footer(self.cells, facts))
        self.assertIn("loop0", common.footer(self.cells, facts))

    def test_the_page_shows_the_command_of_every_experiment(self):
        facts = load.load_facts(self.db, self.cells)
        shown = [value for f in (facts, *facts.others) for name, value in report.commands(f)]
        self.assertEqual(shown, ["blksweep run demo.toml --db results.db --disk-label loop0",
                                 "blksweep run demo.toml --db results.db --disk-label loop1"])

    def test_facts_name_every_disk(self):
        facts = load.load_facts(self.db, self.cells)
        self.assertEqual(facts.counted, 18)
        self.assertEqual([f.host["device_model"] for f in facts.others], ["emulated hdd-7200 x1"])
        self.assertIn("emulated hdd-7200 x1", common.caption("Text.", "SELECT 1", facts))
        rates = [load.sequential_ceiling(f).median for f in (facts, facts.others[0])]
        self.assertAlmostEqual(rates[0] / rates[1], 120)

    def test_figures_with_a_scale_are_drawn_disk_by_disk(self):
        names = [name for name, *_ in report.wanted(self.cells)]
        self.assertEqual(names[:2], ["disks", "prediction"])
        self.assertLessEqual({"throughput-1-fast", "throughput-2-slow"}, set(names))
        shown = {name: cells for name, _, _, cells in report.wanted(self.cells)}
        self.assertEqual([c.label for c in shown["throughput-2-slow"]], ["random", "inode", "lba"])

    def test_the_lead_says_what_each_disk_shows(self):
        cells = [cell(n + 1, f"{disk} + {name}", baseline=name == "random", settings={"disk": disk},
                      ratio=None if name == "random" else ratio, ratio_low=ratio, ratio_high=ratio,
                      verdict="" if name == "random" else "faster")
                 for n, (disk, name, ratio) in enumerate([
                     ("fast", "random", 0), ("fast", "lba", 2.0), ("slow", "random", 0), ("slow", "lba", 80.0)])]
        *disks, _ = page.lead(cells, load.Facts({}, [], [], 4, []))
        for line, (disk, ratio) in zip(disks, (("fast", "2.00"), ("slow", "80.0")), strict=True):
            self.assertIn(f"{disk}: fastest: lba, {ratio} times the samples per second of random (", line)


class UnknownQuality(WithDatabase):
    OPTIONS = ["--repeats", "1", "--no-probe"]

    def test_the_least_measure_is_plotted_and_named(self):
        with sqlite3.connect(self.db) as db:
            db.execute("UPDATE run SET quality_displacement = 0.95, quality_neighbours_broken = 0.02 WHERE cell_id = 1")
            db.execute("UPDATE run SET quality_label_mix = NULL, quality_displacement = NULL, "
                       "quality_rank_decorrelation = NULL, quality_neighbours_broken = NULL WHERE cell_id = 2")
        db.close()
        points = quality.load(self.db, self.cells)
        self.assertEqual(points[1][0][:2], (0.02, "quality_neighbours_broken"))
        self.assertNotIn(2, points)

    def test_the_least_of_what_is_known(self):
        self.assertEqual(quality.least({"quality_label_mix": None, "quality_displacement": 0.5}),
                         (0.5, "quality_displacement"))
        self.assertIsNone(quality.least({"quality_label_mix": None}))


class Blob(io.BytesIO):
    """As sqlite3.Blob, which knows its length."""

    def __len__(self):
        return len(self.getvalue())


class Pure(unittest.TestCase):
    def test_a_full_disk_is_said_in_a_line_that_names_the_figure(self):
        def full(_stem):
            raise OSError(errno.ENOSPC, "No space left on device")
        with self.assertRaises(load.Unwritten) as caught:
            report.draw_one("throughput", pathlib.Path("figures"), full)
        self.assertEqual(load.said(caught.exception), "figure throughput: No space left on device")
        self.assertEqual(load.said(FileNotFoundError(errno.ENOENT, "No such file or directory", "a.csv")),
                         "a.csv: No such file or directory")
        self.assertEqual(load.said(KeyError("cell")), "KeyError: 'cell'")

    def test_decode_reads_whole_records_only(self):
        for kind, form, record in (("issue", "<qQIqII", (-1, 2**63, 4096, 70_000, 7, 3)), ("depth", "<qII", (5, 6, 7))):
            blob = Blob(struct.pack(form, *record) + b"rest")
            self.assertEqual(load.packed(blob, load.RECORDS[kind]).tolist(), [record])

    def test_powers_of_two_hold_their_lower_bound(self):
        self.assertEqual(sizes.by_power([(4096, 1), (8191, 1), (8192, 2)]), {12: 0.5, 13: 0.5})
        self.assertEqual([sizes.size_text(e) for e in (9, 12, 20, 30)], ["512", "4K", "1M", "1G"])

    def test_requests_below_a_bucket_stand_beside_it_and_have_no_size(self):
        shares = sizes.by_power([(0, 3), (4096, 1)])
        self.assertEqual(shares, {sizes.BELOW: 0.75, 12: 0.25})
        self.assertEqual(sizes.size_text(sizes.BELOW), "0")
        self.assertIn("below 4 KiB are counted together", sizes.describe({1: (shares, 4)}, [None]))
        self.assertNotIn("below", sizes.describe({1: ({12: 1.0}, 4)}, [None]))

    def test_thin_keeps_an_even_choice(self):
        self.assertEqual(sawtooth.thin(list(range(10)), 5), [0, 2, 4, 6, 8])
        self.assertEqual(sawtooth.thin([1, 2], 5), [1, 2])

    def test_empty_csv_fields_are_unknown(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "cells.csv"
            path.write_text("cell_id,label,baseline,runs,ratio,ratio_low,ratio_high,setting_order\n"
                            '1,"a, b",1,3,,,,random\n2,c,0,3,2.0,1.9,2.1,lba\n', encoding="utf-8")
            first, second = load.load_cells(path)
        self.assertEqual((first.label, first.baseline, first.value("ratio")), ("a, b", True, None))
        self.assertIsNone(first.interval("ratio"))
        self.assertEqual(second.interval("ratio"), (1.9, 2.1))
        self.assertEqual(second.settings, {"order": "lba"})

    def test_words_are_those_of_the_verdict_and_not_of_the_interval(self):
        # Holm: the interval of one comparison excludes 1, the verdict over all of them does not hold.
        open_ = cell(1, ratio=1.02, ratio_low=1.01, ratio_high=1.03, verdict="not shown", detectable=0.042)
        faster = cell(1, ratio=1.2, ratio_low=1.1, ratio_high=1.3, verdict="faster")
        few = cell(1, ratio=2.0)
        self.assertIn("not shown", throughput.ratio_text(open_))
        self.assertNotIn("shown", throughput.ratio_text(faster))
        self.assertIn("no verdict", throughput.ratio_text(few))
        self.assertEqual(page.verdict(open_), "not shown (needs 4.2%)")
        self.assertEqual((page.verdict(faster), page.verdict(few)), ("faster", ""))

    def test_the_lead_claims_nothing_that_verdicts_do_not_bear(self):
        facts = load.Facts({}, [], [], 6, [])
        base = cell(1, "random", True)
        open_ = cell(2, "lba", ratio=1.3, ratio_low=1.1, ratio_high=1.5, verdict="not shown")
        faster = cell(3, "device", ratio=2.0, ratio_low=1.9, ratio_high=2.1, verdict="faster")
        few = cell(4, "inode", ratio=9.0)
        self.assertIn("No cell was shown to be faster than random", page.lead([base, open_], facts)[0])
        self.assertIn("Fastest: device", page.lead([base, open_, faster], facts)[0])
        self.assertIn("No verdict against random: 3 pairs", page.lead([base, few], facts)[0])

    def test_the_lead_names_the_fastest_that_shuffles_too(self):
        facts = load.Facts({}, [], [], 6, [])
        base = cell(1, "random", True, quality_label_mix=1.0)
        lba = cell(2, "lba", ratio=2.0, ratio_low=1.9, ratio_high=2.1, verdict="faster", quality_label_mix=0.0)
        mixed = cell(3, "window", ratio=1.5, ratio_low=1.4, ratio_high=1.6, verdict="faster", quality_label_mix=0.96)
        self.assertRegex(page.lead([base, lba, mixed], facts)[0],
                         r"^Fastest: lba,.*; label mix 0\.00\)\. Fastest of those mixed to 0\.95 or more: window, 1\.50 times")
        self.assertIn("; label mix 0.00). No cell mixed to 0.95 or more was shown", page.lead([base, lba], facts)[0])
        self.assertNotIn("or more", page.lead([base, mixed], facts)[0])

    def test_the_lead_names_the_measure_where_there_are_no_labels(self):
        faster = {"ratio": 2.0, "ratio_low": 1.9, "ratio_high": 2.1, "verdict": "faster"}
        lba = cell(2, "lba", **faster, quality_displacement=0.5, quality_neighbours_broken=0.25)
        self.assertIn("; neighbours 0.25)", page.lead([cell(1, "random", True), lba], load.Facts({}, [], [], 6, []))[0])

    def test_the_lead_says_what_a_device_cell_read_through_files(self):
        base = cell(1, "random", True)
        device = cell(2, "lba + device", ratio=1.3, ratio_low=1.2, ratio_high=1.4, verdict="faster",
                      device_fallbacks=1200.0)
        self.assertIn("lba + device, 1,200 samples of it read through files, 1.30 times",
                      page.lead([base, device], load.Facts({}, [], [], 6, []))[0])

    def test_few_pairs_are_said_under_every_figure(self):
        few = cell(1, ratio=2.0, pairs=3.0)
        enough = cell(1, ratio=2.0, pairs=5.0)
        self.assertIn("3 pairs: no interval and no verdict from fewer than 5", common.few_pairs([few, enough]))
        self.assertEqual(common.few_pairs([enough]), "")

    def test_the_least_rounds_are_those_of_the_program(self):
        header = (ROOT / "src/stats/paired.h").read_text(encoding="utf-8")
        self.assertIn(f"kLeastRounds = {common.LEAST_ROUNDS};", header)

    def test_text_is_escaped_in_the_page(self):
        self.assertIn("&lt;script&gt;", page.pairs([("a", "<script>")]))
        self.assertIn("&lt;b&gt;", page.table([("x", False)], [["<b>"]]))

    def test_inline_svg_has_its_own_ids_and_no_metadata(self):
        svg = ('<?xml version="1.0"?><!DOCTYPE svg><svg width="1pt"><metadata>http://x</metadata>'
               '<clipPath id="p1"/><g clip-path="url(#p1)"/><use xlink:href="#p1"/></svg>')
        out = report.inline_svg(svg, "depth")
        self.assertTrue(out.startswith("<svg "))
        self.assertNotIn("metadata", out)
        self.assertEqual(out.count("depth-p1"), 3)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    unittest.main()
