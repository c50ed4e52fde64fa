"""Figures and tables of replays, traces and ranks: values times the units of their axes are what was measured."""
import pathlib
import re
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / part) for part in ("scripts/figures", "tests/figures", "tests/support")]

import drawn  # noqa: E402
import replay_latency  # noqa: E402
import replay_lateness  # noqa: E402
import replay_rate  # noqa: E402
import replays  # noqa: E402
import report  # noqa: E402
import scaling  # noqa: E402
import trace_addresses  # noqa: E402
import trace_depth  # noqa: E402
import trace_misses  # noqa: E402
import trace_rate  # noqa: E402
import traces  # noqa: E402
from scaling_test import row  # noqa: E402

MS, S = 10**6, 10**9
REPLAY = {"replay_id": 1, "trace": "a.trace", "target": "/dev/a", "timing": "original", "verdict": "faithful", "speed": 1.0,
          "requests": 3000, "length_ns": 2 * S, "left_out": 7, "late_p50_ns": 11_000, "late_p99_ns": 12 * MS, "tool_p99_ns": 130,
          "fio_p99_ns": 14 * S, "interrupted": 0, "shared": "", "depth": 4, "addresses": "as-is", "direct": 1, "awake": 0}
TRACE = {"trace_id": 1, "trace": "a.trace", "trace_kind": "block", "requests": 3000, "reads": 2000, "footprint_bytes": 5 << 20,
         "duration_ns": 2 * S, "sequential": 0.25, "miss_ratio_error": 0.1}


def replay(**points):
    return replays.Replay(REPLAY, {kind: points.get(kind, []) for kind in replays.KINDS})


def trace(accesses=(), **points):
    return traces.Trace(TRACE, {kind: points.get(kind, []) for kind in traces.KINDS}, list(accesses))


def table(page):
    """[{heading: cell}] of a table."""
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.DOTALL) for line in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)]
    return [dict(zip(cells[0], values)) for values in cells[1:]]


class Replays(drawn.Case):
    def shares(self, module, shown, xlabel):
        """Each kind has times of its own: none is drawn under another's name, as another time, or not at all."""
        kinds = {kind: [(at * 10**n, 1), (at * 10**(n + 1), 3)] for n, (kind, at) in enumerate(zip(shown, (200, 300, 700)))}
        fig = module.draw([replay(**kinds)])
        ax, = fig.axes
        lines = drawn.named(ax)
        self.assertEqual(set(lines), set(shown.values()))
        self.assertEqual(drawn.legend(fig), drawn.looks(lines.values()))
        self.assertEqual(len({line.get_color() + line.get_linestyle() for line in lines.values()}), len(lines))
        for kind, name in shown.items():
            self.assertEqual(drawn.by_ticks(ax.xaxis, lines[name].get_xdata()), [x for x, _ in kinds[kind]], name)
            self.assertEqual(list(lines[name].get_ydata()), [0.25, 1.0], name)
        self.assertEqual((ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale()), (xlabel, "share of requests", "log"))

    def test_lateness_is_drawn_as_long_as_it_was(self):
        self.shares(replay_lateness, {"late": "late", "late_tool": "through the tool", "late_fio": "fio's replay, at the driver"},
                    "late by")

    def test_latency_is_drawn_as_long_as_it_was(self):
        self.shares(replay_latency, {"latency": "replayed", "latency_recorded": "recorded"}, "latency")

    def test_what_is_shorter_than_the_axis_begins_stands_where_the_caption_says(self):
        one = replay(late=[(0, 1)])
        line, = replay_lateness.draw([one]).axes[0].get_lines()
        said = re.search(r"stands at ([\d.]+ µs)", replay_lateness.describe([one]))
        self.assertEqual([x * 1e3 for x in line.get_xdata()], [drawn.quantity(said[1])])

    def test_rates_are_requests_by_the_length_of_their_window(self):
        window = S // 10
        fig = replay_rate.draw([replay(due=[(0, 30), (window, 40)], issued=[(0, 10), (window, 60)])])
        ax, = fig.axes
        lines = drawn.named(ax)
        self.assertEqual(ax.get_ylabel(), "requests/s")
        self.assertEqual(drawn.legend(fig), drawn.looks(lines.values()))
        for name, values in (("the trace asks", [300, 400]), ("issued", [100, 600])):
            self.assertEqual(drawn.xs(ax, lines[name]), [0, window])
            for got, wanted in zip(drawn.ys(ax, lines[name]), values, strict=True):
                self.assertAlmostEqual(got, wanted)

    def test_the_table_has_each_time_in_its_place_and_a_rate_only_where_it_is_one(self):
        found = [dict(REPLAY, **of) for of in ({}, {"verdict": "held_back"}, {"verdict": "unfaithful"}, {"length_ns": 0})]
        with mock.patch.object(replays, "everything", return_value=found):
            rows = table(report.replay_table(None))
        self.assertEqual([r["requests/s"] for r in rows], ["1,500", "1,500", "–", "–"])
        self.assertEqual({name: rows[0][name] for name in ("late p50", "late p99", "tool p99", "fio p99", "left out")},
                         {"late p50": "11 µs", "late p99": "12 ms", "tool p99": "130 ns", "fio p99": "14 s", "left out": "7"})


class Traces(drawn.Case):
    def test_steps_have_their_times_and_values(self):
        for module, kind, label in ((trace_rate, "rate", "requests/s"), (trace_depth, "depth", "requests in flight")):
            points = {"rate": [(0, 1.0)], "depth": [(0, 2.0)], kind: [(0, 40.0), (S, 70.0), (2 * S, 10.0)]}
            ax, = module.draw([trace(**points)]).axes
            line, = ax.get_lines()
            self.assertEqual(ax.get_ylabel(), label)
            self.assertEqual(drawn.xs(ax, line), [0, S, 2 * S, 3 * S])
            self.assertEqual(drawn.ys(ax, line), [40, 70, 10, 10])
            self.assertEqual(line.get_drawstyle(), "steps-post")

    def test_a_single_step_lasts_as_long_as_the_trace(self):
        ax, = trace_rate.draw([trace(rate=[(0, 40.0)])]).axes
        self.assertEqual(drawn.xs(ax, *ax.get_lines()), [0, TRACE["duration_ns"]])

    def test_addresses_are_bytes_of_the_unit_that_the_axis_names(self):
        from matplotlib.colors import same_color
        names = ("KiB", "KiB", "MiB", "GiB")
        for top, name in zip((4 << 10, (4 << 20) - 512, 4 << 20, 4 << 30), names):
            fig = trace_addresses.draw([trace([(0, 512, "write"), (S, top, "read"), (2 * S, 0, "discard")])])
            ax, = fig.axes
            (first, second, third), colours = ax.collections[0].get_offsets().tolist(), ax.collections[0].get_facecolors()
            self.assertTrue(ax.get_ylabel().endswith(f"({name})"), ax.get_ylabel())
            self.assertEqual(drawn.by_label(ax.get_xlabel(), (first[0], second[0], third[0])), [0, S, 2 * S])
            self.assertEqual(drawn.by_label(ax.get_ylabel(), (first[1], second[1], third[1])), [512, top, 0])
            shown = {name: colour for name, (colour, *_) in drawn.legend(fig).items()}
            for op, colour in zip(("write", "read", "discard"), colours, strict=True):
                self.assertTrue(same_color(shown[op], colour), op)

    def test_caches_are_as_large_as_their_ticks_say(self):
        sizes = [1 << 16, 1 << 20, 1 << 30]
        ax, = trace_misses.draw([trace(misses=[(0, 1.0), *zip(sizes, (0.9, 0.5, 0.05))])]).axes
        line, = ax.get_lines()
        self.assertEqual(drawn.by_ticks(ax.xaxis, line.get_xdata()), sizes)
        self.assertEqual(list(line.get_ydata()), [0.9, 0.5, 0.05])
        self.assertEqual((ax.get_xlabel(), ax.get_ylabel()), ("LRU cache", "share of misses"))
        band = {(float(x), round(float(y), 9)) for x, y in ax.collections[0].get_paths()[0].vertices}
        for x, low, high in zip(sizes, (0.8, 0.4, 0.0), (1.0, 0.6, 0.15)):
            self.assertLessEqual({(x, low), (x, high)}, band)

    def test_the_table_has_rates_and_the_footprint_in_their_units(self):
        with mock.patch.object(traces, "everything", return_value=[TRACE, dict(TRACE, duration_ns=0)]):
            first, second = table(report.trace_table(None))
        self.assertEqual({name: first[name] for name in ("requests", "reads", "duration", "requests/s", "sequential")},
                         {"requests": "3,000", "reads": "2,000", "duration": "2 s", "requests/s": "1,500", "sequential": "0.25"})
        self.assertEqual(drawn.quantity(first["footprint"]), TRACE["footprint_bytes"])
        self.assertEqual(second["requests/s"], "–")


class Ranks(drawn.Case):
    ROWS = [row(1, 2000.0, batch_ns=5 * MS), row(1, 4000.0, batch_ns=9 * MS), row(2, 5000.0, batch_ns=11 * MS)]

    def test_rates_and_batches_are_what_was_measured_by_the_units_of_their_axes(self):
        fig = scaling.draw(self.ROWS)
        for ax, column, (one, two), (least, greatest) in zip(
                fig.axes, ("samples/s (thousands)", "time per batch (ms)"), ((3000, 5000), (7 * MS, 11 * MS)),
                ((2000, 4000), (5 * MS, 9 * MS)), strict=True):
            self.assertEqual((ax.get_ylabel(), ax.get_xlabel()), (column, "ranks"))
            line, _, (bars,) = ax.containers[0].lines
            self.assertEqual(list(line.get_xdata()), [1, 2])
            self.assertEqual(drawn.ys(ax, line), [one, two])
            self.assertEqual(drawn.by_label(column, bars.get_segments()[0][:, 1]), [least, greatest])
        dotted, = (line for line in fig.axes[0].get_lines() if line.get_linestyle() == ":")
        self.assertEqual(drawn.ys(fig.axes[0], dotted), [3000, 6000])

    def test_the_table_has_the_rate_and_the_time_of_a_batch(self):
        with mock.patch.object(scaling, "everything", return_value=self.ROWS[2:]):
            first, = table(report.ranks_table(None))
        self.assertEqual((first["ranks"], first["samples/s"], first["batch"]), ("2", "5,000", "11 ms"))


if __name__ == "__main__":
    unittest.main()
