"""blksweep.grain and blksweep.torchdata. Debian has neither framework: where they are not installed, their base
classes are stood in for by what their documentation asks of a subclass."""
import json
import sys
import types
import unittest

from data import WINDOWED, DataTest, indices


def stand_in_for_grain():
    module = types.ModuleType("grain")

    class DatasetIterator:
        def __init__(self, parents=()):
            self.initialized = True

        def __iter__(self):
            return self

    class IterDataset:
        def __init__(self, parents=()):
            pass

    module.DatasetIterator, module.IterDataset = DatasetIterator, IterDataset
    return module


def stand_in_for_torchdata():
    """BaseNode: reset() is called before the first next(), and by who begins an epoch; state_dict() asks get_state()."""
    package, nodes = types.ModuleType("torchdata"), types.ModuleType("torchdata.nodes")

    class BaseNode:
        def __init__(self):
            self.ready = False

        def __iter__(self):
            return self

        def reset(self, initial_state=None):
            self.ready = True

        def __next__(self):
            if not self.ready:
                self.reset(None)
            return self.next()

        def state_dict(self):
            if not self.ready:
                self.reset(None)
            return self.get_state()

    nodes.BaseNode, package.nodes = BaseNode, nodes
    return package


try:
    import grain  # noqa: F401
except ImportError:
    sys.modules["grain"] = stand_in_for_grain()
try:
    import torchdata.nodes  # noqa: F401
except ImportError:
    sys.modules["torchdata"] = stand_in_for_torchdata()
    sys.modules["torchdata.nodes"] = sys.modules["torchdata"].nodes
try:
    import torch
except ImportError:
    torch = None


def numbers(batches):
    return [int(i) for batch in batches for i in (batch["indices"] if isinstance(batch, dict) else batch[2])]


class Grain(DataTest):
    def dataset(self, **options):
        import blksweep.grain
        return blksweep.grain.Dataset(self.catalog, **{**WINDOWED, **options})

    def test_each_iterator_brings_the_epochs_of_the_loader_with_its_files_bytes(self):
        dataset, loader = self.dataset(epochs=2), self.loader(epochs=2)
        expected = indices(loader)
        for _ in range(2):
            kept = list(dataset)
            self.assertEqual(numbers(kept), expected)
            for batch in kept:  # copies: they last
                for sample, label, number in zip(batch["samples"], batch["labels"], batch["indices"]):
                    self.assertEqual(sample.tobytes(), self.bytes_of(int(number)))
                    self.assertEqual(label, self.catalog.label_of(int(number)))

    def test_a_state_goes_through_json_and_goes_on_there(self):
        dataset = self.dataset(epochs=2)
        whole = numbers(dataset)
        for stop in (0, 1, 7, 18, 19, 20, 37, 38):
            one = iter(dataset)
            begun = numbers(next(one) for _ in range(stop))
            state = json.dumps(one.get_state())
            other = iter(self.dataset(epochs=2))
            next(other)
            other.set_state(json.loads(state))
            self.assertEqual(begun + numbers(other), whole)

    def test_refuses_at_once_what_cannot_be(self):
        with self.assertRaises(ValueError):
            self.dataset(rank=2, world_size=2)


@unittest.skipIf(torch is None, "no torch")
class Torchdata(DataTest):
    def node(self, **options):
        import blksweep.torchdata
        return blksweep.torchdata.Node(self.catalog, **{**WINDOWED, **options})

    def test_each_reset_after_the_end_is_the_next_epoch(self):
        node, loader = self.node(), self.loader()
        for _ in range(3):
            node.reset()
            self.assertEqual(numbers(node), indices(loader))

    def test_goes_on_where_a_state_says(self):
        for stop in (0, 1, 7, 18):
            node, other = self.node(), self.node()
            begun = numbers(next(node) for _ in range(stop))
            other.reset(node.state_dict())
            self.assertEqual(begun + numbers(other), indices(self.loader()))


if __name__ == "__main__":
    unittest.main()
