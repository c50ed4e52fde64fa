"""blksweep.torch.Dataset in PyTorch's own DataLoader."""
import sys
import unittest

try:
    import torch
except ImportError:
    torch = None

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
