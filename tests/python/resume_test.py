"""state_dict: a loop that was ended goes on with the sample that would have been next."""
import itertools
import json
import os
import random
import shutil
import tempfile
import time
import unittest

import numpy

import blksweep
from data import CASES, DataTest, indices


def some(loader, batches):
    """The next batches of a loop that is then left, and the state after them."""
    found = []
    for number, batch in enumerate(loader, start=1):
        found += [int(i) for i in batch.indices]
        if number == batches:
            break
    return found, json.loads(json.dumps(loader.state_dict()))


class Resume(DataTest):
    def setUp(self):
        self.rng = random.Random(5)

    def at(self, state, **options):
        loader = self.loader(**options)
        loader.load_state_dict(state)
        return loader

    def test_goes_on_exactly_again_and_again(self):
        epochs = [indices(self.loader(epochs=3))[e * 300:(e + 1) * 300] for e in range(3)]
        for _ in range(CASES):
            size = self.rng.choice((1, 7, 16, 64, 300))
            loader, found = self.loader(batch_size=size), []
            while len(found) < 600:
                part, state = some(loader, self.rng.randint(1, max(1, 150 // size)))
                found += part
                loader = self.at(state, batch_size=self.rng.choice((size, 16)))
            self.assertEqual(found, sum(epochs, [])[:len(found)])

    def test_is_of_plain_numbers_whatever_numbers_a_loader_was_given(self):
        given = {"batch_size": 10, "seed": 3, "hold": 2, "rank": 1, "world_size": 2}
        loader = self.loader(**{name: numpy.int64(value) for name, value in given.items()})
        loader.set_epoch(numpy.int64(3))
        for batches in (1, 2):
            _, state = some(loader, batches)  # as JSON
            self.assertEqual(indices(self.at(state, **given)), indices(self.at(loader.state_dict(), **given)))

    def test_of_a_window_that_was_a_share_of_the_files_bytes_is_refused(self):
        given = {"direct": False, "shuffle": "buffer", "window": "20%"}
        _, state = some(self.loader(batch_size=10, **given), 2)
        self.at(state, **given)
        del state["settings"]["share_of"]
        with self.assertRaisesRegex(ValueError, "share_of"):
            self.at(state, **given)

    def test_is_the_next_epoch_at_the_end(self):
        loader = self.loader(batch_size=100)
        part, state = some(loader, 3)
        self.assertEqual((len(part), state["epoch"], state["done"]), (300, 1, 0))
        self.assertEqual(indices(self.at(state)), indices(self.loader(epochs=2))[300:])

    def test_shares_out_anew_what_is_left(self):
        whole = indices(self.loader())
        for _ in range(CASES):
            found, state, done = [], None, 0
            for world in (self.rng.choice((1, 2, 4)), self.rng.choice((1, 2, 3, 4)), self.rng.choice((1, 2, 4))):
                size = self.rng.choice((1, 5, 16))
                batches = self.rng.randint(1, max(1, 90 // (size * world)))
                loaders = [self.loader(rank=r, world_size=world, batch_size=size) for r in range(world)]
                for loader in loaders:
                    if state is not None:
                        loader.load_state_dict(state)
                runs = [some(loader, batches) for loader in loaders]
                self.assertEqual([s for _, s in runs], [runs[0][1]] * world, "ranks agree")
                found += [i for part, _ in runs for i in part]
                state = runs[0][1]
                done += batches * size * world
                self.assertEqual(state["done"], done)
            found += indices(self.at(state))
            self.assertEqual(sorted(found), sorted(whole))

    def test_is_one_of_all_ranks_also_after_a_last_batch_that_is_shorter_on_some(self):
        # 300 samples of 7 ranks: 43 on the first six, 42 on the last one.
        for scope, size in itertools.product(("global", "rank"), (6, 11, 43)):
            loaders = [self.loader(rank=r, world_size=7, batch_size=size, window_scope=scope) for r in range(7)]
            states = {tuple(loader.state_dict()[k] for k in ("epoch", "done"))
                      for loader in loaders for _ in [some(loader, -(-43 // size))]}
            self.assertEqual(states, {(1, 0)}, (scope, size))

    def test_of_windows_of_ranks_is_of_as_many_ranks(self):
        own = {"window_scope": "rank", "world_size": 3}
        found = []
        for rank in range(3):
            whole = indices(self.loader(rank=rank, epochs=2, **own))
            part, state = some(self.loader(rank=rank, batch_size=7, **own), 4)
            self.assertEqual((state["epoch"], state["done"]), (0, 84))
            part += indices(self.at(state, rank=rank, **own))
            self.assertEqual(part, whole[:100])
            found += part
        self.assertEqual(sorted(found), list(range(300)))
        for other, words in (({"world_size": 2, "window_scope": "rank"}, "ranks=2"), ({"world_size": 3}, "window_scope='global'")):
            with self.assertRaisesRegex(ValueError, words):
                self.at(state, **other)
        _, state = some(self.loader(rank=1, batch_size=100, **own), 1)  # the next epoch has not begun
        shared = [indices(self.at(state, rank=rank, world_size=2, window_scope="rank")) for rank in range(2)]
        self.assertEqual(sorted(sum(shared, [])), list(range(300)))

    def test_of_before_there_were_windows_of_ranks_is_as_good(self):
        part, state = some(self.loader(), 3)
        del state["settings"]["window_scope"]
        self.assertEqual(part + indices(self.at(state)), indices(self.loader()))

    def test_is_refused_where_a_window_holds_another_number(self):
        # Direct reads keep whole blocks of small files in the window, reads through the page cache do not.
        direct, buffered = {"direct": True}, ({"direct": False}, {"engine": "mmap"}, {"engine": "nowait"})
        part, state = some(self.loader(shuffle="reservoir", window="10%", **direct), 3)
        self.assertGreater(state["settings"]["granule"], 1, "no direct reads here")
        for other in buffered:
            with self.assertRaisesRegex(ValueError, "granule .of direct, engine.*: samples would come twice or never"):
                self.at(state, shuffle="reservoir", window="10%", **other)
        self.assertEqual(part + indices(self.at(state, shuffle="reservoir", window="10%")),
                         indices(self.loader(shuffle="reservoir", window="10%")))
        del state["settings"]["granule"]
        self.at(state, shuffle="reservoir", window="10%")  # of before it was in there
        part, state = some(self.loader(shuffle="none", **direct), 3)
        self.assertEqual(part + indices(self.at(state, shuffle="none", direct=False)), indices(self.loader(shuffle="none")))

    def test_counts_all_that_its_loop_brings(self):
        _, state = some(self.loader(epochs=2), 5)
        loader = self.at(state, epochs=2)
        samples = size = batches = 0
        for batch in loader:
            samples, size, batches = samples + len(batch), size + int(sum(batch.sizes)), batches + 1
            said = loader.stats()
            self.assertEqual((said["samples"], said["bytes"], said["batches"]), (samples, size, batches))
        self.assertEqual((samples, loader.stats()["samples"]), (600 - 5 * 16, samples))
        self.assertGreater(loader.stats()["epoch_ns"], loader.stats()["first_batch_ns"])
        self.assertEqual(len(indices(loader)), loader.stats()["samples"])

    def test_is_small_and_quick(self):
        loader = self.loader()
        iterator = iter(loader)
        next(iterator)
        times = []
        for _ in range(100):
            begin = time.perf_counter()
            state = loader.state_dict()
            times.append(time.perf_counter() - begin)
        print(f"state_dict: {sorted(times)[50] * 1e6:.1f} us, {len(json.dumps(state))} bytes")
        self.assertLessEqual(len(json.dumps(state)), 1024)

    def test_is_refused_for_another_order_or_data_set(self):
        _, state = some(self.loader(), 3)
        for options in ({"seed": 2}, {"window": "10%"}, {"order": "random"}, {"shuffle": "buffer"}):
            with self.assertRaisesRegex(ValueError, "samples would come twice or never"):
                self.at(state, **options)
        for wrong in ({}, None, {**state, "version": 9}, {**state, "done": 301}, {**state, "epoch": -1}, {**state, "done": "x"}):
            with self.assertRaises(ValueError):
                self.at(wrong)
        with self.assertRaisesRegex(ValueError, "another data set"):
            self.at({**state, "data": "0" * 16})

    def test_is_refused_where_the_files_lie_in_another_order_that_the_loop_follows(self):
        for order, follows in (("lba", True), ("chunked", True), ("elevator", True), ("inode", True), ("random", False), ("path", False)):
            with self.subTest(order=order), tempfile.TemporaryDirectory(dir=self.temp) as parent:
                folder = os.path.join(parent, "data")
                shutil.copytree(self.folder, folder)
                options = {"order": order, "shuffle": "buffer" if order == "elevator" else "none", "batch_size": 16}
                loader = blksweep.Loader(folder, **options)
                begun, (part, state) = loader.state_dict(), some(loader, 5)
                names = [os.path.join(at, name) for at, _, files in os.walk(folder) for name in files]
                for name in self.rng.sample(names, len(names)):
                    shutil.copy2(name, name + ".new")
                    with open(name + ".new", "rb") as file:
                        os.fsync(file)  # blocks are given now: later all of them would be in the order of names again
                for name in names:
                    os.rename(name + ".new", name)
                copied = blksweep.Loader(folder, **options)
                if follows:
                    with self.assertRaisesRegex(ValueError, "places .where the files lie.*: samples would come twice or never"):
                        copied.load_state_dict(state)
                    copied.load_state_dict(begun)
                    part = []
                else:
                    copied.load_state_dict(state)
                self.assertEqual(sorted(part + indices(copied)), list(range(300)))


if __name__ == "__main__":
    unittest.main()
