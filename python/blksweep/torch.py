"""For PyTorch: an IterableDataset of whole batches.

    data = blksweep.torch.Dataset("/data/train", order="chunked", merge="device",
                                  shuffle="reservoir", window="10%", batch_size=256)
    for epoch in range(90):
        data.set_epoch(epoch)
        for samples, labels, indices in torch.utils.data.DataLoader(data, batch_size=None):
            ...

The reader has threads of its own: num_workers=0 is enough. With workers each reads its share, of
the epoch that set_epoch() named: what they have read does not come back, so state_dict() stays there.
"""
from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch.utils.data import IterableDataset, get_worker_info

from . import _native
from .arrays import samples_of
from .loader import Loader


def _tensors(batch: _native.Batch) -> Any:
    samples = samples_of(batch)
    if isinstance(samples, list):
        return [torch.from_numpy(sample) for sample in samples]
    return torch.from_numpy(samples)


def tensors_of(batch: _native.Batch, samples: Any = None) -> tuple:
    """(samples, labels, indices) of a batch, copied so that they last."""
    return (_tensors(batch) if samples is None else samples, torch.from_numpy(batch.labels),
            torch.from_numpy(batch.indices.astype("int64")))


class Dataset(IterableDataset):
    """Batches as (samples, labels, indices); options are those of blksweep.Loader.

    decode: called with each sample (a read-only array, valid during the call); samples is then the
    list of what it returned, in order.
    decode_workers: threads that call it side by side; the decoders of images let go of the
    interpreter's lock. 0: this one.
    pin_memory: tensors are put into page-locked memory; needs a GPU.
    """

    def __init__(self, data: Any, *, decode: Callable[[Any], Any] | None = None,
                 decode_workers: int = 0, pin_memory: bool = False, rank: int = 0,
                 world_size: int = 1, **options: Any):
        super().__init__()
        if pin_memory and not torch.cuda.is_available():
            raise ValueError("pin_memory=True: torch sees no GPU here")
        if decode_workers < 0 or (decode_workers and decode is None):
            raise ValueError(f"decode_workers={decode_workers}: threads that call decode, "
                             "which is None, or fewer than 0")
        self._decode, self._decode_workers, self._pin = decode, decode_workers, pin_memory
        self._rank, self._world, self._options = rank, world_size, options
        self._loader = Loader(data, rank=rank, world_size=world_size, **options)
        self._at = multiprocessing.RawArray("q", 2)  # epoch, done: workers that live on have no other news

    def __len__(self) -> int:
        return len(self._loader)

    def set_epoch(self, epoch: int) -> None:
        """The next loop reads that epoch."""
        self._loader.set_epoch(epoch)
        self._tell()

    def state_dict(self) -> dict:
        return self._loader.state_dict()

    def load_state_dict(self, state: dict) -> None:
        self._loader.load_state_dict(state)
        self._tell()

    def _tell(self) -> None:
        state = self._loader.state_dict()
        self._at[:] = state["epoch"], state["done"]

    def __iter__(self) -> Iterator[tuple]:
        loader = self._loader
        if worker := get_worker_info():
            state = {**loader.state_dict(), "epoch": self._at[0], "done": self._at[1]}
            loader = Loader(loader.catalog, rank=self._rank * worker.num_workers + worker.id,
                            world_size=self._world * worker.num_workers, **self._options)
            loader.load_state_dict(state)
        with self._decoding() as each:
            for batch in loader:
                made = self._made(batch, each)
                if not worker:
                    self._tell()
                yield made
            if not worker:
                self._tell()

    @contextlib.contextmanager
    def _decoding(self) -> Iterator[Callable]:
        if not self._decode_workers:
            yield map
            return
        with ThreadPoolExecutor(self._decode_workers, "decode") as threads:
            yield threads.map

    def _made(self, batch: _native.Batch, each: Callable) -> tuple:
        if self._decode is not None:
            return tensors_of(batch, self._decoded(batch, each))
        samples, labels, indices = tensors_of(batch)
        if self._pin:
            samples = samples.pin_memory() if isinstance(samples, torch.Tensor) else [
                s.pin_memory() for s in samples]
        return samples, labels, indices

    def _decoded(self, batch: _native.Batch, each: Callable) -> list:
        """What the decoder made of each sample; what it raises is noted to be of that file."""
        made: list = []
        try:
            for one in each(self._decode, batch):
                made.append(one)
        except Exception as error:
            if hasattr(error, "add_note"):  # Python 3.11
                index = int(batch.indices[len(made)])
                error.add_note(f"sample {index}, {self._loader.catalog.file_of(index)}")
            raise
        return made
