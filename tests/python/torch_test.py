"""blksweep.torch.Dataset in PyTorch's own DataLoader."""
import os
import signal
import sys
import threading
import unittest

try:
    import torch
except ImportError:
    torch = None

import blksweep
from data import WINDOWED, DataTest, indices


@unittest.skipIf(torch is None, "no torch")
class Torch(DataTest):
    def dataset(self, **options):
        import blksweep.torch
        return blksweep.torch.Dataset(self.catalog, **{**WINDOWED, **options})

    def read(self, dataset, workers=0):
        return list(torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=workers))

    def test_batches_are_tensors_in_the_loaders_order(self):
        dataset = self.dataset()
        batches = self.read(dataset)
        self.assertEqual([i for _, _, indices in batches for i in indices.tolist()], indices(self.loader()))
        for samples, labels, numbers in batches:
            for sample, label, number in zip(samples, labels, numbers):
                self.assertEqual(bytes(sample.numpy()), self.bytes_of(int(number)))
                self.assertEqual(int(label), self.catalog.label_of(int(number)))
        self.assertEqual(len(batches), len(dataset))

    def test_workers_share_the_epoch(self):
        for workers in (1, 2, 3):
            dataset = self.dataset()
            dataset.set_epoch(1)
            numbers = sorted(i for _, _, indices in self.read(dataset, workers) for i in indices.tolist())
            self.assertEqual(numbers, list(range(300)))

    def test_workers_that_are_spawned_share_it_too(self):
        dataset = self.dataset(decode=len)
        dataset.set_epoch(1)
        spawned = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2, multiprocessing_context="spawn")
        self.assertEqual([b[2].tolist() for b in spawned], [b[2].tolist() for b in self.read(dataset, 2)])

    def test_decodes_what_it_is_told_to(self):
        dataset = self.dataset(decode=len, order="lba", shuffle="none")
        sizes = [size for sizes, _, _ in self.read(dataset) for size in sizes]
        self.assertEqual(sum(sizes), self.catalog.nbytes)

    def test_decodes_on_threads_in_the_same_order(self):
        read = [self.read(self.dataset(decode=bytes, decode_workers=workers)) for workers in (0, 1, 3)]
        for samples, _, indices in read[0]:
            self.assertEqual(samples, [self.bytes_of(int(i)) for i in indices])
        for other in read[1:]:
            self.assertEqual([s for s, _, _ in read[0]], [s for s, _, _ in other])
        with self.assertRaisesRegex(ValueError, "decode_workers=2: threads that call decode"):
            self.dataset(decode_workers=2)
        for count in (float("nan"), 1.5, "2"):
            for name in ("decode_workers", "decode_ahead"):
                with self.subTest(name, count=count), self.assertRaises(TypeError):
                    self.dataset(decode=bytes, **{"decode_workers": 1, name: count})

    def test_an_error_of_the_decoder_is_the_loops(self):
        def fail(sample):
            raise KeyError(len(sample))

        for workers in (0, 2):
            with self.assertRaises(KeyError):
                self.read(self.dataset(decode=fail, decode_workers=workers))

    def test_an_error_of_the_decoder_names_the_file(self):
        broken = 123

        def fail(sample):
            if bytes(sample) == self.bytes_of(broken):
                raise ValueError("no image")
            return len(sample)

        for workers in (0, 3):
            with self.assertRaisesRegex(ValueError, "^no image$") as caught:
                self.read(self.dataset(decode=fail, decode_workers=workers))
            if sys.version_info >= (3, 11):
                self.assertEqual(caught.exception.__notes__, [f"sample {broken}, {self.catalog.file_of(broken)}"])

    def test_the_next_batch_is_decoded_while_the_loop_has_one(self):
        decoded, second = [], threading.Event()

        def decode(sample):
            decoded.append(len(sample))
            if len(decoded) == 32:
                second.set()
            return len(sample)

        dataset = self.dataset(decode=decode, decode_workers=2)
        loop = iter(dataset)
        next(loop)
        if len(decoded) == 16:  # the second one was not read yet: it is begun when it is asked for
            next(loop)
        self.assertTrue(second.wait(60))
        loop.close()

    def test_none_is_decoded_ahead_where_that_is_asked_for(self):
        for options in ({"decode_workers": 2, "decode_ahead": 0}, {"decode_workers": 2, "prefetch": 0}, {}):
            decoded = []
            for number, _ in enumerate(self.dataset(decode=lambda sample: decoded.append(1), **options), 1):
                self.assertEqual(len(decoded), min(300, 16 * number))
        for options in ({"decode_ahead": 1}, {"decode_workers": 1, "decode_ahead": -1}):
            with self.assertRaisesRegex(ValueError, "decode_ahead=-?1: batches that decode_workers decode"):
                self.dataset(decode=len, **options)

    def test_what_is_decoded_ahead_is_not_through(self):
        whole, states = [], []
        for batch in (straight := self.dataset()):
            whole.append(batch[2].tolist())
            states.append(straight.state_dict())
        for options in ({}, {"decode_ahead": 3}, {"decode_ahead": 9, "prefetch": 2}):
            dataset = self.dataset(decode=len, decode_workers=2, **options)
            for left in (1, 7, len(whole) - 1, len(whole)):
                seen = []
                for batch in dataset:
                    seen.append(batch[2].tolist())
                    self.assertEqual(dataset.state_dict(), states[len(seen) - 1])
                    if len(seen) == left < len(whole):
                        break
                self.assertEqual(seen, whole[:left])
            # All but the last loop were left, and began their epoch again; the last one ended it.
            self.assertEqual(dataset.state_dict()["epoch"], 1)
            for at in (0, 5, len(whole) - 2):
                dataset.load_state_dict(states[at])
                self.assertEqual([b[2].tolist() for b in dataset], whole[at + 1:])

    def test_a_batch_of_which_the_decoder_raised_is_not_through(self):
        whole = [b[2].tolist() for b in self.dataset()]

        def fail(sample):
            if bytes(sample) == self.bytes_of(whole[4][7]):
                raise ValueError("no image")
            return len(sample)

        for options in ({}, {"decode_workers": 2}, {"decode_workers": 2, "decode_ahead": 3}):
            dataset = self.dataset(decode=fail, **options)
            with self.assertRaisesRegex(ValueError, "no image"):
                self.read(dataset)
            other = self.dataset()
            other.load_state_dict(dataset.state_dict())
            self.assertEqual([b[2].tolist() for b in other], whole[4:])

    def test_the_batches_before_an_error_of_the_decoder_come(self):
        order = [i for _, _, numbers in self.dataset() for i in numbers.tolist()]
        for workers in (0, 1, 4):
            for at in (0, 15, 16, 200, 299):
                broken, seen = self.bytes_of(order[at]), []
                with self.assertRaises(ZeroDivisionError):
                    for samples, _, _ in self.dataset(decode=lambda s: 1 // (bytes(s) != broken), decode_workers=workers):
                        seen += samples
                self.assertEqual(len(seen), at // 16 * 16)

    def test_a_child_does_not_wait_for_what_its_parent_decodes(self):
        loop = iter(self.dataset(decode=len, decode_workers=2))
        for left in (5, 13):  # the last but one: nothing more is read
            for _ in range(left):
                next(loop)
            if (child := os.fork()) == 0:
                signal.alarm(60)
                try:
                    next(loop)
                except blksweep.ForkedError:
                    os._exit(0)
                os._exit(1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(len(list(loop)), 1)

    def test_few_places_in_the_window_are_enough_to_decode_ahead(self):
        for options in ({"prefetch": 1}, {"prefetch": 1, "decode_ahead": 5}, {"prefetch": 2, "epochs": 3}):
            epochs = options.get("epochs", 1)
            for _ in range(10):
                read = self.read(self.dataset(decode=bytes, decode_workers=3, **options))
                self.assertEqual(sorted(i for _, _, numbers in read for i in numbers.tolist()), sorted(list(range(300)) * epochs))
                for samples, _, numbers in read[::5]:
                    self.assertEqual(samples, [self.bytes_of(int(i)) for i in numbers])

    def test_workers_that_live_on_hear_of_the_epoch(self):
        def numbers(loader):
            return [i for _, _, indices in loader for i in indices.tolist()]

        dataset = self.dataset()
        lives = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2, persistent_workers=True)
        for epoch in (0, 2, 1):
            dataset.set_epoch(epoch)
            other = self.dataset()
            other.set_epoch(epoch)
            self.assertEqual(numbers(lives), numbers(self.read(other, 2)), epoch)

    def test_page_locked_memory_needs_a_gpu(self):
        if not torch.cuda.is_available():
            with self.assertRaisesRegex(ValueError, "sees no GPU"):
                self.dataset(pin_memory=True)


if __name__ == "__main__":
    unittest.main()
