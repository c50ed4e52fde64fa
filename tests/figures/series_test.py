"""Figures of runs: each series is under its own name, and values times the units of their axes are what was measured."""
import pathlib
import sys
import unittest
from unittest import mock

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / part) for part in ("scripts/figures", "tests/support")]

import depth  # noqa: E402
import disks  # noqa: E402
import dots  # noqa: E402
import drawn  # noqa: E402
import epochs  # noqa: E402
import first_batch  # noqa: E402
import inodes  # noqa: E402
import load  # noqa: E402
import map_distance  # noqa: E402
import map_heat  # noqa: E402
import maps  # noqa: E402
import order  # noqa: E402
import overlap  # noqa: E402
import page_cache  # noqa: E402
import prediction  # noqa: E402
import quality  # noqa: E402
import sawtooth  # noqa: E402
import sizes  # noqa: E402
import strategies  # noqa: E402
import style  # noqa: E402
import throughput  # noqa: E402
import utilisation  # noqa: E402
import window  # noqa: E402

MIB, GIB, MS, S = 2**20, 2**30, 10**6, 10**9
FACTS = load.Facts({}, [], [("sequential", 4096, 1, speed * MIB, 1.0, 1.0, at) for at, speed in enumerate((40, 60, 50))], 1, [])


def cell(number=1, **values):
    return load.Cell(number, f"cell {number}", False, 2, values, {})


def close(case, got, wanted):
    case.assertEqual(len(got), len(wanted))
    for one, other in zip(got, wanted):
        case.assertAlmostEqual(one, other, delta=1e-9 * abs(other))


class Rows(drawn.Case):
    """A row of dots a cell: two repeats, from one to the other, and the median."""

    def row(self, fig, values, middle):
        ax, = fig.axes
        label = ax.get_xlabel()
        dots_, range_, median = ax.get_lines()[:3]
        for line, wanted in ((dots_, values), (range_, (min(values), max(values))), (median, (middle,))):
            close(self, drawn.xs(ax, line), wanted)
        names = drawn.legend(fig)
        for name, line in (("one repeat", dots_), ("median", median), ("least to greatest", range_)):
            self.assertEqual(names[name], drawn.look(line))
        return ax, label

    def test_throughput_fio_and_the_ceiling_are_on_one_scale(self):
        groups = {"ours": {1: [20 * MIB, 30 * MIB]}, "fio": {1: [7 * MIB, 11 * MIB]}}
        fig = throughput.draw(groups, [cell(bytes_per_s=25 * MIB)], FACTS)
        ax, label = self.row(fig, groups["ours"][1], 25 * MIB)
        self.assertTrue(label.startswith("throughput ("))
        lines = {drawn.look(line): line for line in ax.get_lines()[3:]}
        names = drawn.legend(fig)
        close(self, drawn.xs(ax, lines[names["fio, same bytes and order"]]), groups["fio"][1])
        said, = (name for name in names if name.startswith("sequential ceiling"))
        self.assertTrue(said.startswith("sequential ceiling 50 MiB/s (40–60 in 3 rounds)"), said)
        self.assertEqual(set(drawn.xs(ax, lines[names[said]])), {50 * MIB})
        band = ax.patches[0].get_extents().transformed(ax.transData.inverted())
        close(self, drawn.by_label(label, (band.x0, band.x1)), (40 * MIB, 60 * MIB))

    def test_the_first_batch_and_transfers(self):
        fig = first_batch.draw({1: [5 * MS, 9 * MS]}, [cell(first_batch_ns=7 * MS)], None)
        self.assertIn("to the first batch", self.row(fig, [5 * MS, 9 * MS], 7 * MS)[1])
        fig = overlap.draw({1: [0.25, 0.75]}, [cell(exposed_transfer=0.5, hidden_transfer=0.375)], None)
        self.assertIn("transfers without a kernel", self.row(fig, [0.25, 0.75], 0.5)[1])
        self.assertIn("37.5 % hidden", [text.get_text() for text in fig.axes[0].texts])

    def test_dots_are_divided_by_the_scale(self):
        _, ax = dots.figure(1)
        self.assertEqual(dots.rows(ax, [cell()], "x", {1: [8.0, 6.0]}, 2), 4.0)


class OverTheEpoch(drawn.Case):
    def curves(self, module, kinds, scale, ylabel):
        """The sixth value of one is never that of another."""
        panel = {name: ([0.0, 1.5], [at, 10.0 * at]) for at, name in enumerate(kinds, 1)}
        fig = module.draw({1: {**panel, "hit": 0.5}}, [cell()], None)
        ax, = fig.axes
        lines = drawn.named(ax)
        self.assertEqual(set(lines), set(kinds.values()))
        self.assertEqual(drawn.legend(fig), drawn.looks(lines.values()))
        self.assertEqual(len({str(drawn.look(line)) for line in lines.values()}), len(lines))
        for at, name in enumerate(kinds.values(), 1):
            self.assertEqual(drawn.xs(ax, lines[name], fig._supxlabel.get_text()), [0, 1.5 * S])
            self.assertEqual(drawn.ys(ax, lines[name], fig._supylabel.get_text()), [at * scale, 10 * at * scale])
        self.assertTrue(fig._supylabel.get_text().startswith(ylabel))

    def test_what_went_through_the_page_cache(self):
        self.curves(page_cache, {"delivered": "delivered", "wanted": "fetched", "unwanted": "fetched, not wanted",
                                 "again": "fetched again", "evicted": "evicted"}, MIB, "sum so far (")

    def test_sums_of_the_page_cache_are_taken_from_their_own_columns(self):
        records = numpy.zeros(1, load.RECORDS["page_cache"])
        records["added"], records["wanted"], records["again"], records["evicted"] = (n * MIB for n in (9, 2, 3, 4))
        came = [(1, 1, 3 * S, 5 * MIB), (1, 1, 4 * S, 6 * MIB), (1, 2, S, MIB), (2, 1, S, MIB)]
        with mock.patch.object(load, "rows", side_effect=[[(1,)], [(1, 0.5)], came]), \
                mock.patch.object(load, "first_series", return_value=[(1, 2.0, numpy.array([1.5]), records)]):
            panel = page_cache.load(None, [cell()])[1]
        self.assertEqual({name: panel[name] for name in ("wanted", "unwanted", "again", "evicted")},
                         {"wanted": ([1.5], [2]), "unwanted": ([1.5], [7]), "again": ([1.5], [3]), "evicted": ([1.5], [4])})
        self.assertEqual(panel["delivered"], ([0, 3, 4], [0, 5, 11]))

    def test_inodes(self):
        self.curves(inodes, {"inodes_loaded": "inodes loaded by the reader", "inodes_evicted": "inodes given up",
                             "shrinker_freed": "inodes and dentries freed by shrinkers"}, 1, "per second")
        begins, rates = inodes.rates(numpy.array([0.0, 4.0]), numpy.array([0, 800]), 4.0)
        close(self, (begins[1], rates[0], rates[-1]), (4.0 / inodes.BINS, 200.0, 200.0))

    def test_queue_depth(self):
        fig = depth.draw({1: (2.0, [(0.5, 3, 4, 6)], [(0.5, 1, 7, 9)])}, [cell()], None)
        ax, = fig.axes
        lines = drawn.named(ax)
        self.assertEqual(drawn.legend(fig), drawn.looks(lines.values()))
        for name, mean, band, ends in zip(("issued to the driver", "waiting in the scheduler"), (4, 7), ax.collections,
                                          ({3, 6}, {1, 9}), strict=True):
            self.assertEqual(drawn.xs(ax, lines[name], fig._supxlabel.get_text()), [S / 2])
            self.assertEqual(list(lines[name].get_ydata()), [mean])
            self.assertEqual({float(y) for _, y in band.get_paths()[0].vertices}, ends)
        self.assertEqual(fig._supylabel.get_text(), "requests")

    def test_utilisation(self):
        spans = [(at * S, at * S + S // 4, at) for at in range(64)]
        with mock.patch.object(epochs, "intervals", return_value=[(a / S, b / S, n) for a, b, n in spans]):
            curve, = utilisation.curves(None, [(1, 1, 0, 64 * S)])
        close(self, curve, [25.0] * 8)
        fig = utilisation.draw({1: [[20.0, 40.0], [60.0, 80.0]]}, [cell()], None)
        ax, = fig.axes
        band, line = ax.patches
        self.assertEqual((list(line.get_data().values), list(line.get_data().edges)), ([40, 60], [0, 50, 100]))
        self.assertEqual((list(band.get_data().baseline), list(band.get_data().values)), ([20, 40], [60, 80]))
        self.assertEqual(list(ax.get_lines()[0].get_ydata()), [50, 50])
        self.assertEqual([drawn.unit(text.get_text()) for text in (fig._supxlabel, fig._supylabel)], [0.01, 0.01])


class Requests(drawn.Case):
    def test_sizes_are_in_the_bar_that_their_ticks_bound(self):
        found = [(0, 1), (4096, 3), (8191, 1), (1 << 20, 5)]
        fig = sizes.draw({1: (sizes.by_power(found), 10)}, [cell()], None)
        ax, = fig.axes
        bars = {round(bar.get_x() + bar.get_width() / 2, 6): bar.get_height() for bar in ax.patches}
        self.assertEqual(bars, {11.5: 10, 12.5: 40, 20.5: 50})
        self.assertEqual([sizes.size_text(e) for e in (11, 12, 20, 31)], ["0", "4K", "1M", "2G"])
        self.assertEqual({float(at): text.get_text() for at, text in zip(ax.get_xticks(), ax.get_xticklabels())},
                         {e: sizes.size_text(e) for e in range(11, 22, 2)})
        self.assertEqual((drawn.unit(fig._supylabel.get_text()), ax.texts[0].get_text()), (0.01, "n=10"))

    def test_intended_and_issued_places(self):
        records = numpy.zeros(3, load.RECORDS["issue"])
        records["sector"], records["read"] = numpy.array([3, 1, 2]) * GIB // 512, [2, 0, 1]
        intended, issued = order.places(records)
        self.assertEqual((intended.tolist(), issued.tolist()), ([1, 2, 3], [3, 1, 2]))
        fig = order.draw({1: (intended, issued, 4)}, [cell()], None)
        ax, = fig.axes
        label, shown = fig._supylabel.get_text(), [c.get_offsets().tolist() for c in ax.collections]
        self.assertEqual([drawn.by_label(label, [y for _, y in of]) for of in shown],
                         [[3 * GIB, GIB, 2 * GIB], [GIB, 2 * GIB, 3 * GIB]])
        self.assertEqual([x for x, _ in shown[0]], [0, 4, 8])


    def test_the_sawtooth(self):
        records = numpy.zeros(2, load.RECORDS["issue"])
        records["sector"] = numpy.array([3, 1]) * GIB // 512
        with mock.patch.object(load, "first_series", return_value=[(1, 2.0, numpy.array([0.5, 1.5]), records)]):
            fig = sawtooth.draw(sawtooth.load(None, [cell()]), [cell()], None)
        shown = fig.axes[0].collections[0].get_offsets()
        self.assertEqual(drawn.by_label(fig._supxlabel.get_text(), shown[:, 0]), [S / 2, 3 * S / 2])
        self.assertEqual(drawn.by_label(fig._supylabel.get_text(), shown[:, 1]), [3 * GIB, GIB])


class Plots(drawn.Case):
    def test_quality_against_throughput(self):
        one = cell(bytes_per_s=25 * MIB, quality_displacement=0.5)
        fig = quality.draw({1: [(0.4, "quality_displacement", 20 * MIB), (0.6, "quality_displacement", 30 * MIB)]}, [one], FACTS)
        ax, = fig.axes
        repeats, range_, median, ceiling = ax.get_lines()
        for line, x, y in ((repeats, [0.4, 0.6], [20, 30]), (range_, [0.5, 0.5], [20, 30]), (median, [0.5], [25])):
            self.assertEqual((list(line.get_xdata()), drawn.ys(ax, line)), (x, [v * MIB for v in y]))
        self.assertEqual(drawn.ys(ax, ceiling), [50 * MIB] * 2)
        self.assertTrue(ax.get_ylabel().startswith("throughput (") and ax.get_xlabel().startswith("shuffle quality"))

    def test_windows(self):
        line = [(size * MIB, cell(), [speed * MIB] * 2, [mixed] * 2) for size, speed, mixed in ((1, 30, 0.25), (64, 20, 0.75))]
        fig = window.draw(("label mix", [("lba", line)]), [], None)
        speed, mixed, both = fig.axes
        for ax, label, values in ((speed, "throughput (MiB/s)", [30 * MIB, 20 * MIB]), (mixed, "label mix", [0.25, 0.75])):
            self.assertEqual(ax.get_ylabel(), label)
            drawn_line = ax.get_lines()[-1]
            self.assertEqual(drawn.by_ticks(ax.xaxis, drawn_line.get_xdata()), [MIB, 64 * MIB])
            self.assertEqual(drawn.ys(ax, drawn_line), values)
        front = both.get_lines()[0]
        self.assertEqual((both.get_xlabel(), drawn.xs(both, front, "")), ("label mix", [0.25, 0.75]))
        self.assertEqual(drawn.ys(both, front), [30 * MIB, 20 * MIB])

    def test_measured_and_predicted_epochs_are_on_their_axes(self):
        self.assertIn("epoch_ns, p.epoch_ns", prediction.QUERY)
        with mock.patch.object(load, "rows", return_value=[(1, 2 * S, 3 * S, "m")]):
            fig = prediction.draw(prediction.load(None, [cell()]), [cell()], None)
        ax, = fig.axes
        line = ax.get_lines()[-1]
        self.assertEqual((drawn.xs(ax, line), drawn.ys(ax, line)), ([2 * S], [3 * S]))
        self.assertEqual([text.partition(" ")[0] for text in (ax.get_xlabel(), ax.get_ylabel())], ["measured", "predicted"])


class Joint(drawn.Case):
    def cells(self, names, **settings):
        return [load.Cell(n, f"cell {n}", n == 1, 2, {"ratio": 1.5 if n > 1 else None}, {"disk": name, **settings})
                for n, name in enumerate(names, 1)]

    def test_steps_of_strategies(self):
        cells = self.cells(("1 one", "2 two"), **{"bandwidth-limit": "5000000kB/s"})
        with mock.patch.object(load, "rows", return_value=[(1, 2.0), (1, 4.0), (2, 7.0)]) as rows, \
                mock.patch.object(strategies, "busy_curves", return_value={1: [[20.0, 40.0]]}):
            fig = strategies.draw(strategies.load(None, cells), cells, None)
        self.assertIn("epoch_ns / 1e9 ", rows.call_args.args[1])  # seconds, as the axis says
        ax, strip = fig.axes
        self.assertEqual({round(bar.get_y() + bar.get_height() / 2): bar.get_width() for bar in ax.patches}, {0: 3, 1: 7})
        self.assertEqual([drawn.xs(ax, line) for line in ax.get_lines() if line.get_marker() == "o"], [[2 * S, 4 * S], [7 * S]])
        self.assertEqual([text.get_text() for text in ax.get_yticklabels()], ["1  one", "2  two"])
        self.assertEqual([text.get_text() for text in ax.get_legend().get_texts()], ["5,000 MB/s"])
        self.assertEqual((strip.get_title("left"), drawn.unit(strip.get_xlabel())), ("utilisation, 5,000 MB/s", 0.01))
        self.assertIn("30 %", [text.get_text() for text in strip.texts])
        line = strip.patches[-1].get_data()
        self.assertEqual(([round((0.5 - v / strategies.STRIP) * 100) for v in line.values], list(line.edges)), ([20, 40], [0, 50, 100]))

    def test_ratios_of_each_disk_are_to_its_own_baseline(self):
        cells = [load.Cell(n, "x", n in (1, 3), 1, {}, {"disk": "ab"[n > 2], "order": "xy"[n % 2]}) for n in (1, 2, 3, 4)]
        with mock.patch.object(load, "rows", return_value=[(1, 1, 0, 10.0), (2, 1, 0, 40.0), (3, 1, 0, 20.0), (4, 1, 0, 30.0)]):
            found = disks.load(None, cells)
        self.assertEqual(found, {1: [1], 2: [4], 3: [1], 4: [1.5]})
        fig = disks.draw(found, cells, None)
        ax, = fig.axes
        marks = {(line.get_marker(), float(x)) for line in ax.get_lines() if line.get_marker() != "None" for x in line.get_xdata()}
        self.assertEqual(marks, {(disks.MARKERS[0], 1), (disks.MARKERS[0], 4), (disks.MARKERS[1], 1), (disks.MARKERS[1], 1.5)})
        self.assertEqual({name: look[2] for name, look in drawn.legend(fig).items()}, {"a": disks.MARKERS[0], "b": disks.MARKERS[1]})
        self.assertEqual(ax.get_xlabel(), "samples/s as a ratio to the disk's baseline")


class Maps(drawn.Case):
    PATH, TURN = 100_000, 8 * MS
    LENGTHS = (1 << 20, 1 << 23)

    def map(self, latency):
        """Forward twice as long as backward, the tail at once."""
        found = {sign * length: [(2 if sign > 0 else 1) * latency] * 100 for length in self.LENGTHS for sign in (-1, 1)}
        seeks = {name: [(float(n), 500_000.0) for n in self.LENGTHS] for name in ("backward", "forward")}
        facts = {"device": "/dev/a", "device_model": "m", "map_id": 1, "rotation_ns": self.TURN, "path_ns": self.PATH,
                 "interrupted": 0, "size_bytes": GIB, "rotational": 1}
        return maps.Map(facts, found, seeks)

    def test_percentiles_and_seeks_have_the_unit_of_the_axis(self):
        for latency in (4 * MS, 50_000):
            fig = map_distance.draw([self.map(latency)])
            backward, forward = fig.axes
            self.assertEqual([ax.get_xlabel().split()[-1] for ax in fig.axes], ["backward", "forward"])
            label = backward.get_ylabel()
            for ax, times in ((backward, 1), (forward, 2)):
                *shares, seek, turn = ax.get_lines()
                self.assertEqual(len(shares), 3)
                for line in shares:
                    self.assertEqual(drawn.by_ticks(ax.xaxis, line.get_xdata()), list(self.LENGTHS))
                    close(self, drawn.ys(ax, line, label), [times * latency] * 2)
                close(self, drawn.ys(ax, seek, label), [600_000] * 2)
                close(self, drawn.ys(ax, turn, label), [600_000 + self.TURN] * 2)
            self.assertEqual(list(drawn.legend(fig)), ["p50", "p90", "p99", "fitted seek + path", "and one revolution"])

    def test_a_heat_map_has_the_unit_of_its_axis(self):
        fig = map_heat.draw([self.map(4 * MS)])
        backward, forward = fig.axes[:2]
        for ax, times in ((backward, 1), (forward, 2)):
            mesh = ax.collections[0]
            borders = mesh.get_coordinates()[:, 0, 1]
            rows = mesh.get_array().reshape(len(borders) - 1, -1)
            full, = numpy.flatnonzero(rows[:, 0])
            low, high = drawn.by_label(backward.get_ylabel(), borders[full:full + 2])
            self.assertTrue(low <= times * 4 * MS < high, (low, high))
            self.assertEqual(rows[full].tolist(), [1, 1])


if __name__ == "__main__":
    unittest.main()
