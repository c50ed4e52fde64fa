"""A data set: what `blksweep catalog` writes, or a folder that is scanned now."""
from __future__ import annotations

import os
import warnings

from . import _native


class Catalog:
    """The samples of a data set, opened once for any number of loaders.

    path: a folder, which is scanned now, or a file that `blksweep catalog` wrote.
    Pickled it is its path: another process opens it again, and refuses other samples.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)
        if not os.path.exists(self.path):
            raise FileNotFoundError(f"{self.path}: neither a folder nor a catalog file")
        folder = os.path.isdir(self.path)
        self.native = _native.Data(self.path if folder else "", "" if folder else self.path)
        self._places: dict[str, str] = {}
        for text in self.native.warnings:  # fewer samples than the folder has, an order that cannot be
            warnings.warn(f"{self.path}: {text}", stacklevel=2)

    def __reduce__(self) -> tuple:
        return _opened_again, (os.path.abspath(self.path), self.identity)

    def __len__(self) -> int:
        return self.native.samples

    def __repr__(self) -> str:
        return f"Catalog({self.path!r}): {len(self)} samples, {self.nbytes} bytes"

    @property
    def nbytes(self) -> int:
        """Bytes of all samples."""
        return self.native.bytes

    @property
    def root(self) -> str:
        """The folder of the files."""
        return self.native.root

    @property
    def identity(self) -> str:
        """Equal where the same samples have the same numbers, wherever the files lie."""
        return f"{self.native.identity:016x}"

    def places(self, order: str) -> str:
        """Equal where that order of reading is; it follows where the files lie, but for random, path and recorded."""
        if order not in self._places:
            self._places[order] = f"{self.native.places({'order': order}):016x}"
        return self._places[order]

    @property
    def labels(self) -> list[str]:
        """Names of the labels, by number."""
        return [self.native.label(i) for i in range(self.native.labels)]

    def file_of(self, sample: int) -> str:
        """The file that a sample is in."""
        return self.native.path(sample)

    def label_of(self, sample: int) -> int:
        """Number of a sample's label; -1: it has none."""
        return self.native.label_of(sample)

    def size_of(self, sample: int) -> int:
        """Bytes of a sample."""
        return self.native.sample_bytes(sample)


def _opened_again(path: str, identity: str) -> Catalog:
    found = Catalog(path)
    if found.identity != identity:
        raise RuntimeError(f"{path}: its samples are other ones than when it was pickled")
    return found
