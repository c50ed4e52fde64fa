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
import functools
import multiprocessing
import operator
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
    decode_ahead: batches that they decode while the loop has another one, as far as these are read
    and the window holds them; without: 1.
    pin_memory: tensors are put into page-locked memory; needs a GPU.
    """

    def __init__(self, data: Any, *, decode: Callable[[Any], Any] | None = None,
                 decode_workers: int = 0, decode_ahead: int | None = None, pin_memory: bool = False,
                 rank: int = 0, world_size: int = 1, **options: Any):
        super().__init__()
        if pin_memory and not torch.cuda.is_available():
            raise ValueError("pin_memory=True: torch sees no GPU here")
        decode_workers = operator.index(decode_workers)
        decode_ahead = None if decode_ahead is None else operator.index(decode_ahead)
        if decode_workers < 0 or (decode_workers and decode is None):
            raise ValueError(f"decode_workers={decode_workers}: threads that call decode, "
                             "which is None, or fewer than 0")
        if decode_ahead is not None and (decode_ahead < 0 or (decode_ahead and not decode_workers)):
            raise ValueError(f"decode_ahead={decode_ahead}: batches that decode_workers decode, "
                             "which is 0, or fewer than 0")
        self._ahead = decode_ahead if decode_ahead is not None else 1 if decode_workers else 0
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
        with self._decoding() as call:
            for batch in loader._loop(self._ahead, lambda batch: self._begun(batch, call)):
                if not worker:
                    self._tell()
                yield batch
            if not worker:
                self._tell()

    @contextlib.contextmanager
    def _decoding(self) -> Iterator[Callable]:
        """Gives call(f, x), which returns what waits for f(x), or calls it."""
        if not self._decode_workers:
            yield functools.partial
            return
        threads = ThreadPoolExecutor(self._decode_workers, "decode")
        try:
            yield lambda *work: threads.submit(*work).result
        finally:
            threads.shutdown(cancel_futures=True)

    def _begun(self, batch: _native.Batch, call: Callable) -> Callable[[], tuple]:
        """What waits for the tensors of a batch, which is released but for the arrays that it needs."""
        if self._decode is None:
            waits = functools.partial(tuple, self._pinned(*tensors_of(batch)))
        else:
            # Nothing else refers to an array then: it is gone before what was made of it is there.
            decoded = [call(self._decode_last, [sample]) for sample in batch]
            waits = functools.partial(self._decoded, *tensors_of(batch, decoded))
        batch.release()
        return waits

    def _pinned(self, samples: Any, *others: Any) -> tuple:
        if self._pin:
            samples = samples.pin_memory() if isinstance(samples, torch.Tensor) else [
                s.pin_memory() for s in samples]
        return samples, *others

    def _decode_last(self, samples: list) -> Any:
        return self._decode(samples.pop())

    def _decoded(self, begun: list, labels: torch.Tensor, indices: torch.Tensor) -> tuple:
        """What the decoder made of each sample; what it raises is noted to be of that file."""
        made: list = []
        try:
            for one in begun:
                made.append(one())
        except Exception as error:
            if hasattr(error, "add_note"):  # Python 3.11
                index = int(indices[len(made)])
                error.add_note(f"sample {index}, {self._loader.catalog.file_of(index)}")
            raise
        return made, labels, indices
