"""blksweep.Loader: what comes, in which order, and what is refused."""
import csv
import doctest
import os
import pickle
import resource
import shutil
import subprocess
import unittest
import warnings

import blksweep
import blksweep.sizes
from data import PROGRAM, WINDOWED, DataTest, contents, indices, make

ORDERS = ({}, {"order": "random", "shuffle": "none"}, {"order": "lba", "shuffle": "full", "window": "64MiB"},
          {"shuffle": "buffer", "window": "10%"}, {"order": "inode", "shuffle": "none", "prefetch": 1}, {"direct": False})


def descriptors():
    return len(os.listdir("/proc/self/fd"))


class EveryLoop(DataTest):
    def test_brings_every_sample_once_with_its_files_bytes_and_label(self):
        for options in ORDERS:
            seen = []
            for batch in self.loader(**options):
                self.assertLessEqual(len(batch), 16)
                for sample, index, label, size in zip(batch, batch.indices, batch.labels, batch.sizes):
                    self.assertEqual(sample.tobytes(), self.bytes_of(int(index)))
                    self.assertEqual(len(sample), size)
                    self.assertEqual(label, self.catalog.label_of(int(index)))
                    self.assertIn(f"/{self.catalog.labels[label]}/", self.catalog.file_of(int(index)))
                    seen.append(int(index))
            self.assertEqual(sorted(seen), list(range(300)))

    def test_is_another_epoch_that_the_seed_alone_decides(self):
        one, other = self.loader(), self.loader(depth=3, openers=2, prefetch=9)
        first, second = indices(one), indices(one)
        self.assertNotEqual(first, second)
        self.assertEqual(first + second, indices(self.loader(epochs=2)))
        self.assertEqual([first, second], [indices(other), indices(other)])
        self.assertNotEqual(first, indices(self.loader(seed=2)))
        one.set_epoch(0)
        self.assertEqual(indices(one), first)

    def test_comes_in_the_order_that_the_program_measures(self):
        table, catalog = os.path.join(self.temp, "emission.csv"), os.path.join(self.temp, "data.cat")
        subprocess.run([PROGRAM, "--quiet", "catalog", self.folder, "-o", catalog], check=True, stdout=subprocess.DEVNULL)
        near_head = {"order": "elevator", "chunk": "32KiB", "lookahead": "128KiB", "shuffle": "buffer", "window": "20%", "hold": 2}
        for settings in ({**WINDOWED, "batch_size": 256}, near_head, {**near_head, "lookahead": "25%", "hold": 1000}):
            options = [word for name, value in settings.items() if name != "batch_size" for word in (f"--{name}", str(value))]
            subprocess.run([PROGRAM, "--quiet", "plan", catalog, "--merge", "none", *options, "--emission", table],
                           check=True, stdout=subprocess.DEVNULL)
            with open(table, newline="") as lines:
                rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
            loader = blksweep.Loader(catalog, **settings)
            paths = [loader.catalog.file_of(i) for i in indices(loader)]
            self.assertEqual([os.path.join(self.catalog.root, row["path"]) for row in rows], paths)

    def test_leaves_half_of_the_descriptors_to_the_program(self):
        folder = os.path.join(self.temp, "many")
        make(folder, "512B", 900)
        catalog = blksweep.Catalog(folder)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for limit in (120, 400):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            for merge in ("none", "file"):
                before, seen, most = descriptors(), 0, 0
                for batch in blksweep.Loader(catalog, order="random", merge=merge, batch_size=8, depth=256):
                    seen, most = seen + len(batch), max(most, descriptors())
                self.assertEqual(seen, 900)
                self.assertLessEqual(most - before, (limit - before) // 2)
                self.assertGreater(most - before, limit // 8)

    def test_is_the_same_where_a_pickled_loader_goes(self):
        loader = self.loader()
        whole = [indices(loader), indices(loader)]
        loader.set_epoch(1)
        next(iter(loader))  # under way: stays here
        copy = pickle.loads(pickle.dumps(loader))
        self.assertEqual(indices(copy), whole[1])
        changed = os.path.join(self.temp, "changed")
        shutil.copytree(self.folder, changed)
        pickled = pickle.dumps(blksweep.Catalog(changed))
        with open(pickle.loads(pickled).file_of(0), "ab") as file:
            file.write(b"more")
        with self.assertRaisesRegex(RuntimeError, "changed: its samples are other ones than when it was pickled"):
            pickle.loads(pickled)

    def test_can_be_left_and_begun_again(self):
        loader = self.loader()
        whole = indices(loader)
        loader.set_epoch(0)
        for count, _ in enumerate(loader):
            if count == 3:
                break
        self.assertEqual(indices(loader), whole)

    def test_that_is_sent_elsewhere_within_a_loop_says_so_there(self):
        saved = self.loader().state_dict()
        for send in (lambda loader: loader.set_epoch(0), lambda loader: loader.load_state_dict(saved)):
            for begun in (0, 3):
                loader = self.loader()
                loop = iter(loader)
                for _ in range(begun):
                    next(loop)
                send(loader)
                with self.assertRaisesRegex(RuntimeError, "set_epoch"):  # else it looks like a whole epoch
                    next(loop)
                self.assertEqual(indices(loader), indices(self.loader()), "the next loop is whole")

    def test_gives_rows_of_one_size_or_one_array_of_all(self):
        make(os.path.join(self.temp, "even"), "4KiB", 64)
        loader = blksweep.Loader(os.path.join(self.temp, "even"), batch_size=16)
        for batch in loader:
            rows = batch.stack()
            self.assertEqual(rows.shape, (16, 4096))
            self.assertEqual([row.tobytes() for row in rows], [contents(loader.catalog.file_of(int(i))) for i in batch.indices])
        with self.assertRaisesRegex(ValueError, "different sizes"):
            next(iter(self.loader())).stack()
        batch = next(iter(self.loader()))
        data, offsets = batch.concat()
        self.assertEqual([data[a:b].tobytes() for a, b in zip(offsets, offsets[1:])], [s.tobytes() for s in batch])

    def test_says_what_it_did(self):
        loader = self.loader()
        indices(loader)
        stats = loader.stats()
        self.assertEqual((stats["samples"], stats["batches"], stats["bytes"]), (300, len(loader), self.catalog.nbytes))
        self.assertGreater(stats["epoch_ns"], stats["first_batch_ns"])


class Ranks(DataTest):
    def test_share_each_epoch_and_keep_its_order(self):
        whole = self.loader()
        for epoch in range(2):
            emission = indices(whole)
            for world in (2, 3, 4, 7):
                parts = []
                for rank in range(world):
                    loader = self.loader(rank=rank, world_size=world)
                    loader.set_epoch(epoch)
                    parts.append(indices(loader))
                    self.assertEqual(len(loader), -(-len(parts[-1]) // 16))
                self.assertEqual([parts[i % world][i // world] for i in range(300)], emission)

    def test_may_be_more_than_samples(self):
        counts = [len(indices(self.loader(rank=r, world_size=301))) for r in (0, 299, 300)]
        self.assertEqual(counts, [1, 1, 0])


class Refused(DataTest):
    def test_are_options_that_cannot_be(self):
        for options, text in (({"order": "lbaa"}, 'order = "lbaa": it is one of random'), ({"shuffle": "x"}, "none, buffer, reservoir, full"),
                              ({"rank": 2, "world_size": 2}, "ranks count from 0"), ({"epochs": 0}, "1 at least"), ({"window": "64 parsec"}, "64MiB"),
                              ({"window": "1KiB"}, "set --window to at least|window"), ({"depth": -1}, "depth = -1"), ({"batch_size": 0}, "batch"),
                              ({"check": "never"}, "every, watched"), ({"engine": "x"}, "io_uring"), ({"lookahead": 0}, "lookahead=0"),
                              ({"lookahead": "0%"}, "lookahead='0%'"), ({"hold": 1001}, "hold = 1001: 1000 windows at most")):
            with self.subTest(options), self.assertRaisesRegex((ValueError, RuntimeError, TypeError), text):
                indices(self.loader(**options))

    def test_are_epochs_that_are_no_whole_number(self):
        for epoch in (float("nan"), 1.0, "1"):
            with self.subTest(epoch), self.assertRaises(TypeError):
                self.loader().set_epoch(epoch)
            with self.subTest(epochs=epoch), self.assertRaises(TypeError):
                self.loader(epochs=epoch)

    def test_is_data_that_is_not_there(self):
        with self.assertRaisesRegex(FileNotFoundError, "neither a folder nor a catalog"):
            blksweep.Catalog(os.path.join(self.temp, "nothing"))
        with self.assertRaisesRegex(RuntimeError, "catalog"):
            blksweep.Catalog(PROGRAM)

    def test_are_dangling_links_with_a_warning(self):
        folder = os.path.join(self.temp, "lacking")
        make(folder, "4KiB", 20)
        os.symlink("nowhere", os.path.join(folder, "lost"))
        with self.assertWarnsRegex(UserWarning, "1 of the folder's entries: dangling symbolic link.*lost"):
            self.assertEqual(len(blksweep.Catalog(folder)), 20)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            blksweep.Catalog(self.folder)

    def test_are_samples_beyond_the_end(self):
        for ask in (self.catalog.file_of, self.catalog.label_of, self.catalog.size_of):
            for index in (-1, 300, 1 << 40):
                with self.assertRaises(IndexError):
                    ask(index)


def exchange(one, other):
    """Their names: no file is written, made or removed."""
    for old, new in ((one, one + ".away"), (other, one), (one + ".away", other)):
        os.rename(old, new)


@unittest.skipIf(os.geteuid() != 0, "needs root: the kernel tells of writers")
class FilesThatChange(DataTest):
    """Are compared again, and only then: in each of these ways bytes change without the others' traces."""

    def setUp(self):
        self.changing = os.path.join(self.temp, self.id().rsplit(".", 1)[1])
        make(self.changing, "8KiB", 100)

    def test_are_an_error_of_the_loop(self):
        loader = blksweep.Loader(self.changing, batch_size=10)
        self.assertEqual(len(indices(loader)), 100)
        with self.assertRaisesRegex(RuntimeError, "changed"):
            for number, _ in enumerate(loader):
                if number == 2:
                    with open(loader.catalog.file_of(7), "r+b") as f:
                        f.write(b"other")
        with self.assertRaisesRegex(RuntimeError, "changed since the scan"):
            indices(loader)

    def test_are_not_compared_when_the_scan_was_the_last_that_happened(self):
        catalog = os.path.join(self.temp, "changing.cat")
        subprocess.run([PROGRAM, "--quiet", "catalog", self.changing, "-o", catalog], check=True, stdout=subprocess.DEVNULL)
        for data, compared in ((self.changing, [False, False]), (catalog, [True, False])):
            loader, found = blksweep.Loader(data, batch_size=10), []
            for _ in compared:
                indices(loader)
                found.append(loader.stats()["check_ns"] > 0)
            self.assertEqual(found, compared)

    def changed_by(self, change):
        for merge in ("none", "file"):
            loader = blksweep.Loader(self.changing, batch_size=10, merge=merge)
            self.assertEqual(len(indices(loader)), 100)
            change(loader.catalog.file_of(31))
            with self.assertRaisesRegex(RuntimeError, "changed since the scan|No such file"):
                indices(loader)

    def test_by_a_mount_over_their_folder(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to mount")
        other = os.path.join(self.temp, "other")
        make(other, "8KiB", 100)
        loader = blksweep.Loader(self.changing, batch_size=10)
        self.assertEqual(len(indices(loader)), 100)
        subprocess.run(["mount", "--bind", other, self.changing], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.changing], check=True)
        with self.assertRaisesRegex(RuntimeError, "changed since the scan|No such file"):
            indices(loader)

    def test_by_another_one_renamed_over_them(self):
        def change(path):
            with open(path + ".new", "wb") as f:
                f.write(b"z" * 8192)
            os.rename(path + ".new", path)

        self.changed_by(change)

    def test_by_their_end(self):
        self.changed_by(lambda path: os.truncate(path, 5000))

    def test_by_truncation_to_the_same_length(self):
        def change(path):
            os.truncate(path, 0)
            os.truncate(path, 8192)

        self.changed_by(change)

    def looked_again_after(self, change):
        loader = blksweep.Loader(self.changing, batch_size=10)
        indices(loader)
        change(loader.catalog)
        with self.assertRaises(RuntimeError) as raised:  # or it lies elsewhere, where merge="device" is refused
            indices(loader)
        self.assertRegex(str(raised.exception), "changed since the scan|files changed while|lie elsewhere")

    def test_by_another_one_that_takes_their_name_and_gives_them_its_own(self):
        self.looked_again_after(lambda catalog: exchange(catalog.file_of(3), catalog.file_of(60)))

    def test_by_another_folder_that_takes_theirs_name(self):
        self.looked_again_after(lambda catalog: exchange(*(os.path.dirname(catalog.file_of(i)) for i in (0, 99))))

    def test_by_another_data_set_that_takes_the_name_of_theirs(self):
        other = self.changing + ".other"
        shutil.copytree(self.changing, other)
        self.looked_again_after(lambda _: exchange(self.changing, other))

    def test_by_a_link_that_leads_to_another_file(self):
        def link(name, catalog, sample):
            os.symlink(os.path.relpath(catalog.file_of(sample), self.changing), os.path.join(self.changing, name))

        link("link", blksweep.Catalog(self.changing), 0)

        def change(catalog):
            self.assertEqual(len(catalog), 101)
            link("new", catalog, 50)
            os.rename(os.path.join(self.changing, "new"), os.path.join(self.changing, "link"))

        self.looked_again_after(change)

    def test_by_removal(self):
        def change(path):
            os.unlink(path)

        loader = blksweep.Loader(self.changing, batch_size=10)
        self.assertEqual(len(indices(loader)), 100)
        change(loader.catalog.file_of(31))
        with self.assertRaises(RuntimeError):
            indices(loader)


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(blksweep.sizes))
    return tests


if __name__ == "__main__":
    unittest.main()
