"""How epochs of ranks scale, on made-up rows with known answers."""
import contextlib
import json
import pathlib
import sqlite3
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/figures"))
import load  # noqa: E402
import scaling  # noqa: E402


def row(ranks, rate, key="a", complete=1, **others):
    return {"ranks_id": 1, "key": key, "split": "batch", "barrier": "batch", "read_order": "lba", "merge": "none",
            "shuffle": "full", "window_scope": "global", "bytes": 100, "storage_bytes": None, "data_bytes": 100, "page_bytes": 100, "warnings": None, "ranks": ranks, "nodes": 1, "complete": complete, "fault": "", "samples_per_s": rate,
            "batch_ns": int(1e9 / rate), "hostname": "node1", "kernel": "Linux", "tool_version": "", "git_revision": "",
            **others}


class Scaling(unittest.TestCase):
    def test_efficiency_is_per_rank_against_one(self):
        (name, points), = scaling.lines([row(1, 100.0), row(1, 120.0), row(1, 110.0), row(4, 220.0), row(2, 9.0, complete=0)])
        self.assertEqual(name, "batch, lba, full, barrier batch")
        self.assertEqual(sorted(points), [1, 4])
        self.assertEqual(scaling.efficiencies(points), {1: 1.0, 4: 0.5})
        self.assertEqual(scaling.efficiencies({2: points[4]}), {})

    def test_epochs_that_caches_fed_are_another_line(self):
        found = [row(1, 100.0, storage_bytes=100), row(4, 900.0, storage_bytes=10), row(4, 300.0, storage_bytes=98)]
        (name, points), = scaling.lines(found)
        self.assertEqual(scaling.efficiencies(points), {1: 1.0, 4: 0.75})
        self.assertNotIn("caches", name)
        found.append(row(1, 450.0, storage_bytes=12))
        self.assertEqual(["from caches" in name for name, _ in scaling.lines(found)], [False, True])

    def test_epochs_that_a_quota_held_are_another_line(self):
        held = {"warnings": '["rank 1 on a: a CPU quota held it"]'}
        found = [row(1, 100.0, warnings="[]"), row(4, 90.0, **held), row(4, 300.0)]
        (name, points), = scaling.lines(found)
        self.assertEqual(scaling.efficiencies(points), {1: 1.0, 4: 0.75})
        found.append(row(1, 30.0, **held))
        self.assertEqual(["quota" in name for name, _ in scaling.lines(found)], [False, True])

    def test_only_a_quota_is_called_one(self):
        shared = {"warnings": '["rank 0 on a: others read 2 MiB from sda"]'}
        (name, _), = scaling.lines([row(1, 100.0, **shared), row(4, 90.0, **shared)])
        self.assertNotIn("quota", name)
        self.assertIn("with a warning", name)

    def test_where_all_read_all_there_is_no_efficiency(self):
        self.assertNotIn("Efficiency", scaling.describe([row(1, 100.0, split="copy"), row(4, 400.0, split="copy")]))

    def test_small_samples_that_caches_fed_are_another_line(self):
        found = [row(1, 100.0, page_bytes=400, storage_bytes=400), row(4, 900.0, page_bytes=400, storage_bytes=100)]
        self.assertEqual(scaling.lines(found), [])
        found.append(row(4, 300.0, page_bytes=None, data_bytes=None, storage_bytes=400))  # of before they were told
        self.assertEqual([sorted(points) for _, points in scaling.lines(found)], [[1, 4]])

    def test_what_caches_had_differs_by_a_tenth_at_most(self):
        self.assertEqual(scaling.lines([row(1, 100.0, storage_bytes=89), row(4, 400.0, storage_bytes=71)]), [])
        (_, points), = scaling.lines([row(1, 100.0, storage_bytes=96), row(4, 200.0, storage_bytes=94)])  # as the table has it
        self.assertEqual(scaling.efficiencies(points), {1: 1.0, 4: 0.5})

    def test_other_machines_and_programs_are_not_compared(self):
        for other in ({"hostname": "node2"}, {"kernel": "Linux 7"}, {"git_revision": "b"}):
            self.assertEqual(scaling.lines([row(1, 100.0, **other), row(4, 400.0)]), [])

    def test_windows_of_their_own_are_said(self):
        self.assertEqual(scaling.label(row(1, 1.0, window_scope="rank")), "batch, lba, full per rank, barrier batch")

    def test_settings_that_have_no_word_of_their_own_are_told_where_they_differ(self):
        disks = [{"device": "/dev/a", "queue": {"scheduler": name}} for name in ("none", "bfq")]
        keys = [json.dumps({"split": split, "batch": batch, "depth": 32, "disk": disk})
                for split, batch, disk in (("batch", 16, disks[0]), ("batch", 256, disks[0]), ("sample", 16, disks[1]))]
        found = scaling.set_apart([row(ranks, 100.0, key=key) for key in keys[:2] for ranks in (1, 2)])
        self.assertEqual([name for name, _ in scaling.lines(found)],
                         [f"batch, lba, full, barrier batch, batch {size}" for size in (16, 256)])
        self.assertEqual([r["apart"] for r in scaling.set_apart([row(1, 1.0, key=key) for key in keys])],
                         ["batch 16, disk 1", "batch 256, disk 1", "batch 16, disk 2"])
        self.assertEqual([r["apart"] for r in scaling.set_apart([row(1, 1.0), row(2, 1.0)])], ["", ""])

    def test_keys_are_compared_to_their_end(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "ranks.db"
            with contextlib.closing(sqlite3.connect(path)) as db:
                db.execute(f"CREATE TABLE ranks ({', '.join(scaling.NAMES)}, document)")
                for ranks, scheduler in ((1, "none"), (2, "bfq")):
                    key = json.dumps({"data": "x" * 2 * load.LONGEST_ON_PAGE, "disk": {"scheduler": scheduler}})
                    values = {**row(ranks, 100.0, key=key), "ranks_id": ranks, "document": "{}"}
                    columns = (*scaling.NAMES, "document")
                    db.execute(f"INSERT INTO ranks VALUES ({', '.join('?' * len(columns))})", [values[n] for n in columns])
                db.commit()
            found = scaling.everything(path)
        self.assertEqual(scaling.lines(found), [])
        self.assertEqual([r["apart"] for r in found], ["disk 1", "disk 2"])

    def test_settings_with_one_number_of_ranks_have_no_line(self):
        found = [row(1, 100.0), row(2, 100.0, key="b")]
        self.assertEqual(scaling.lines(found), [])
        with self.assertRaises(load.NothingToDraw):
            scaling.draw(found)

    def test_the_caption_says_the_efficiency(self):
        self.assertIn("0.50 with 4", scaling.describe([row(1, 100.0), row(4, 200.0)]))


if __name__ == "__main__":
    unittest.main()
