"""For Grain: an IterDataset of whole batches.

    data = blksweep.grain.Dataset("/data/train", order="chunked", merge="device",
                                  shuffle="reservoir", window="10%", batch_size=256, epochs=90)
    for batch in data:                      # {"samples", "labels", "indices"}: copies
        ...

Its iterator's get_state() is the loader's state_dict(): plain values, which Grain saves as JSON.
With several processes give rank and world_size; Grain's own slicing is not used.
"""
from __future__ import annotations

from typing import Any

import grain

from .arrays import copies_of
from .loader import Loader


class _Iterator(grain.DatasetIterator):
    def __init__(self, loader: Loader):
        super().__init__()
        self._loader, self._epochs, self._batches = loader, loader.epochs, None

    def __next__(self) -> dict[str, Any]:
        if self._batches is None:
            self._batches = iter(self._loader)
        return copies_of(next(self._batches))

    def get_state(self) -> dict[str, Any]:
        return self._loader.state_dict()

    def set_state(self, state: dict[str, Any]) -> None:
        self._loader.load_state_dict(state)
        self._loader.epochs = max(0, self._epochs - self._loader.epoch)
        self._batches = None


class Dataset(grain.IterDataset):
    """Each iterator begins with epoch 0; options are those of blksweep.Loader."""

    def __init__(self, data: Any, **options: Any):
        super().__init__()
        self._first = Loader(data, **options)  # refuses what cannot be, now
        self._options = options

    def __iter__(self) -> _Iterator:
        return _Iterator(Loader(self._first.catalog, **self._options))
