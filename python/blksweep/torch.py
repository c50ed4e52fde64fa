"""For PyTorch: an IterableDataset of whole batches.

    data = blksweep.torch.Dataset("/data/train", order="chunked", merge="device",
                                  shuffle="reservoir", window="10%", batch_size=256)
    for epoch in range(90):
        data.set_epoch(epoch)
        for samples, labels, indices in torch.utils.data.DataLoader(data, batch_size=None):
            ...

The reader has threads of its own: num_workers=0 is enough. With workers each reads its share.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import IterableDataset, get_worker_info

from . import _native
from .loader import Loader


def _tensors(batch: _native.Batch) -> Any:
    """Rows of one tensor where samples have one size, else a tensor each: copies, so they last."""
    sizes = batch.sizes
    if len(sizes) and (sizes == sizes[0]).all():
        rows = batch.stack()
        return torch.from_numpy(rows if rows.flags.writeable else rows.copy())
    data, offsets = batch.concat()
    return list(torch.from_numpy(data).split((offsets[1:] - offsets[:-1]).tolist()))


class Dataset(IterableDataset):
    """Batches as (samples, labels, indices); options are those of blksweep.Loader.

    decode: called with each sample (a read-only array, valid during the call); samples is then the
    list of what it returned.
    pin_memory: tensors are put into page-locked memory; needs a GPU.
    """

    def __init__(self, data: Any, *, decode: Callable[[Any], Any] | None = None,
                 pin_memory: bool = False, rank: int = 0, world_size: int = 1, **options: Any):
        super().__init__()
        if pin_memory and not torch.cuda.is_available():
            raise ValueError("pin_memory=True: torch sees no GPU here")
        self._decode, self._pin = decode, pin_memory
        self._rank, self._world, self._options = rank, world_size, options
        self._loader = Loader(data, rank=rank, world_size=world_size, **options)

    def __len__(self) -> int:
        return len(self._loader)

    def set_epoch(self, epoch: int) -> None:
        """The next loop reads that epoch."""
        self._loader.set_epoch(epoch)

    def state_dict(self) -> dict:
        return self._loader.state_dict()

    def load_state_dict(self, state: dict) -> None:
        self._loader.load_state_dict(state)

    def __iter__(self) -> Iterator[tuple]:
        loader = self._loader
        if worker := get_worker_info():
            state = loader.state_dict()
            loader = Loader(loader.catalog, rank=self._rank * worker.num_workers + worker.id,
                            world_size=self._world * worker.num_workers, **self._options)
            loader.load_state_dict(state)
        for batch in loader:
            yield self._made(batch)

    def _made(self, batch: _native.Batch) -> tuple:
        labels, indices = torch.from_numpy(batch.labels), torch.from_numpy(
            batch.indices.astype("int64"))
        if self._decode is not None:
            return [self._decode(sample) for sample in batch], labels, indices
        samples = _tensors(batch)
        if self._pin:
            samples = samples.pin_memory() if isinstance(samples, torch.Tensor) else [
                s.pin_memory() for s in samples]
        return samples, labels, indices
