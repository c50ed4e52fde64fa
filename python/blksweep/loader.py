"""Loader: epochs of batches, in an order that is fixed by the seed alone."""
from __future__ import annotations

import atexit
import operator
import os
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from . import _native
from .catalog import Catalog
from .position import Position, from_state, to_state
from .sizes import bytes_of, share_of

# Reading threads end before the interpreter does.
_open_passes: weakref.WeakSet = weakref.WeakSet()
_SUMS = ("batches", "samples", "bytes", "reads", "read_bytes", "check_ns", "plan_ns", "epoch_ns", "waited_ns")


@atexit.register
def _close_all() -> None:
    for one in list(_open_passes):
        one.close()


class Loader:
    """Iterable over batches; each `for` loop is the next `epochs` epochs.

    data: a Catalog, a folder, or a catalog file.
    batch_size: samples; the last batch of an epoch may be smaller.
    order: random path directory inode lba chunked recorded reverse elevator, and
    merge: none file kernel device, and
    shuffle: none buffer reservoir full, as `blksweep run` has them (docs/orders.md).
    window, lookahead, chunk, merge_max: bytes, or "64MiB"; the first two also in percent of an
    epoch: "10%".
    lookahead: of the elevator's chunks, what waits to be read; without: half of the window.
    hold: of a buffer, within how many windows' worth of samples each one leaves (1000 at most);
    0: any number.
    seed: fixes the order of every epoch, whatever the number of ranks.
    window_scope: "global": one window over the order of all ranks; "rank": each rank shuffles its
    part of the order of reading in a window of its own, and a state is of as many ranks.
    rank, world_size: every world_size-th sample of the epoch, from the rank-th on.
    direct: past the page cache. depth, openers, prefetch, engine: as `blksweep run` has them. Without,
    prefetch is as many batches as hold eight long reads (4 at least), and depth half of what it lets
    ahead (32 at most); `stats()` has both.
    check: "every" loop compares all files with the catalog at both ends; "watched": only after
    somebody wrote or renamed one, as far as the kernel tells (root); see docs/python.md.
    decode_threads: samples of packed data sets are decompressed; 0: they come as stored.

    A batch is released when the next one is asked for; arrays of it stay valid for as long as they
    live, and keep it in the window: who keeps more batches than fit gets HeldError.
    """

    def __init__(self, data: Catalog | str | os.PathLike[str], *, batch_size: int = 256,
                 order: str = "lba", merge: str = "none", shuffle: str = "none",
                 window: int | str = "64MiB", window_scope: str = "global", chunk: int | str = "4MiB",
                 lookahead: int | str | None = None, hold: int = 0,
                 merge_max: int | str = "1MiB", seed: int = 1, epochs: int = 1, rank: int = 0,
                 world_size: int = 1, direct: bool = True, engine: str = "io_uring",
                 depth: int | None = None, openers: int = 1, prefetch: int | None = None, decode_threads: int = 0,
                 check: str = "watched"):
        self.catalog = data if isinstance(data, Catalog) else Catalog(data)
        # NumPy's numbers become plain ones, which a state keeps; no count is a fraction or NaN.
        batch_size, epochs, rank, world_size, seed, hold = map(
            operator.index, (batch_size, epochs, rank, world_size, seed, hold))
        if not 0 <= rank < world_size:
            raise ValueError(f"rank={rank}, world_size={world_size}: ranks count from 0")
        if epochs < 1:
            raise ValueError(f"epochs={epochs}: 1 at least")
        self.batch_size, self.epochs = batch_size, epochs
        self.rank, self.world_size = rank, world_size
        # What decides which sample comes when: a state is of these.
        self._order = {"order": order, "merge": merge, "shuffle": shuffle,
                       **share_of("window", window), "chunk_bytes": bytes_of("chunk", chunk),
                       **({"lookahead_bytes": 0} if lookahead is None else share_of("lookahead", lookahead)),
                       "hold": hold, "window_scope": window_scope,
                       **({"ranks": world_size} if window_scope == "rank" else {}),
                       "seed": seed}
        self._other = {"merge_most_bytes": bytes_of("merge_max", merge_max),
                       "direct": direct, "engine": engine, "depth": depth, "openers": openers,
                       "prefetch": prefetch, "decode_threads": decode_threads, "batch": batch_size,
                       "check": check, "rank": rank, "ranks": world_size}
        self._at = Position()
        self._begin_at = Position()  # of the newest pass
        self._go_on = False          # the next loop goes on where a state says
        self._pass: Any = None
        self._loops = 0  # that have begun: the newest one reads
        self._last_stats: dict = {}
        self._earlier: dict = {}  # passes of this loop

    def __getstate__(self) -> dict:
        """A copy in another process stands at the same epoch; a loop that is under way is not copied."""
        return {**self.__dict__, "_pass": None}

    def __len__(self) -> int:
        """Batches of one epoch, for this rank."""
        share = len(range(self.rank, len(self.catalog), self.world_size))
        return -(-share // self.batch_size)

    @property
    def epoch(self) -> int:
        """The epoch that is being read, or comes next."""
        return self._at.epoch

    def set_epoch(self, epoch: int) -> None:
        """The next loop begins with that epoch, from its first sample."""
        if (epoch := operator.index(epoch)) < 0:
            raise ValueError(f"epoch {epoch}: they count from 0")
        self._end_loop()
        self._at, self._go_on = Position(epoch), False

    def __iter__(self) -> Iterator[_native.Batch]:
        return self._loop(0, None)

    def _loop(self, ahead: int, prepare: Callable[[_native.Batch], Any] | None) -> Iterator[Any]:
        """What comes of what `prepare` began of each batch, and of so many more that are read; it releases its batch."""
        self._end_loop()
        if not self._go_on:
            self._at = Position(self._at.epoch)
        self._go_on, self._earlier = False, {}
        return self._batches(self._at.epoch + self.epochs, self._loops, ahead, prepare)

    def _batches(self, end: int, loop: int, ahead: int, prepare: Any) -> Iterator[Any]:
        self._check_newest(loop)
        while self._at.epoch < end:
            # The rest of an epoch is a pass of its own; whole ones share one, without a gap.
            count = 1 if self._at.done else end - self._at.epoch
            mine = self._pass = self._open(count)
            yield from self._read(mine, count, ahead, prepare)
            self._check_newest(loop)
            if self._pass is not mine:
                return  # close()
            self._last_stats = self._earlier = self._of_loop(mine.stats())
            self._pass = None

    def _end_loop(self) -> None:
        """And who goes on with it hears of it."""
        self.close()
        self._loops += 1

    def _check_newest(self, loop: int) -> None:
        """A loop that was ended within would look like a whole epoch."""
        if self._loops != loop:
            raise RuntimeError("another loop over this loader has begun, or set_epoch() or load_state_dict() was called, which ended "
                               "this one: make a loader for each")

    def _open(self, epochs: int):
        opened = _native.Pass(self.catalog.native, {
            **self._order, **self._other, "epochs": epochs, "first_epoch": self._at.epoch,
            "first_sample": self._at.done})
        _open_passes.add(opened)
        self._begin_at = Position(self._at.epoch, self._at.done)
        return opened

    def _read(self, mine, epochs: int, ahead: int, prepare: Any) -> Iterator[Any]:
        made: deque = deque()  # (where the loader stands once it is handed out, it)
        taken, most = 0, min(ahead + 1, mine.most_held)
        while self._pass is mine:
            while not made or (len(made) < most and mine.ready and taken < mine.batches):
                if (batch := mine.next()) is None:
                    break
                taken += 1
                made.append((self._behind(mine, taken), batch if prepare is None else prepare(batch)))
            if not made:
                self._at = Position(self._begin_at.epoch + epochs)
                break
            at, batch = made.popleft()
            if prepare is not None:
                batch = batch()  # what it raises comes in this batch's place: the loop has not had it
            self._at = at
            yield batch
            if prepare is None:
                batch.release()

    def _behind(self, mine, taken: int) -> Position:
        """Where the loader stands when so many batches of a pass are handed out."""
        samples, first = len(self.catalog), self._begin_at.done
        epochs, within = divmod(taken - 1, -(-mine.delivers // self.batch_size))  # batches of this rank
        epoch = self._begin_at.epoch + epochs
        # Batches, not samples: the last one of a rank may be a sample shorter than another's.
        done = min(samples, first + (within + 1) * self.batch_size * self.world_size)
        return Position(epoch + 1) if done == samples else Position(epoch, done)

    def _decides(self) -> dict:
        """With what a sample takes in the window, where direct reads keep whole blocks, and the order that files lie in."""
        decides = {**self._order, "places": self.catalog.places(self._order["order"])}
        if self._order["shuffle"] in ("buffer", "reservoir"):
            decides["granule"] = self.catalog.native.granule({**self._order, **self._other})
            if "window_percent" in self._order and not self._other["direct"]:
                decides["share_of"] = "memory"  # states of when it was of the files' bytes have another order
        return decides

    def state_dict(self) -> dict:
        """Where the loop stands: all that was handed out is done. Plain values, below 1 KiB.

        With several ranks: the same state, when each has had the same number of batches of the epoch.
        """
        return to_state(self._at, self.catalog.identity, self._decides())

    def load_state_dict(self, state: dict) -> None:
        """The next loop goes on there, with this loader's rank and world_size."""
        found = from_state(state, self.catalog.identity, self._decides(), len(self.catalog))
        self._end_loop()
        self._at, self._go_on = found, True

    def _of_loop(self, newest: dict) -> dict:
        """A loop that goes on within an epoch, and into the next one, is two passes."""
        if not self._earlier:
            return newest
        sums = {name: self._earlier[name] + newest[name] for name in _SUMS}
        peaks = {name: max(self._earlier[name], newest[name]) for name in ("window_peak_bytes", "memory_bytes")}
        return {**newest, **sums, **peaks, "first_batch_ns": self._earlier["first_batch_ns"]}

    def stats(self) -> dict:
        """Of the newest loop: samples, bytes, times in ns, and bytes per second."""
        found = self._of_loop(self._pass.stats()) if self._pass is not None else dict(self._last_stats)
        if found.get("epoch_ns"):
            found["samples_per_s"] = found["samples"] / (found["epoch_ns"] / 1e9)
            found["bytes_per_s"] = found["bytes"] / (found["epoch_ns"] / 1e9)
        return found

    def close(self) -> None:
        """Ends a loop that is under way; nothing is read any more."""
        if self._pass is not None:
            self._last_stats = self._of_loop(self._pass.stats())
            self._pass.close()
            self._pass = None

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
