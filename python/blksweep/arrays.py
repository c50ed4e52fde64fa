"""A batch as NumPy arrays that are copies: they last, whatever becomes of the loader."""
from __future__ import annotations

from typing import Any

import numpy

from . import _native


def samples_of(batch: _native.Batch) -> Any:
    """Rows of one array where samples have one size, else an array each."""
    sizes = batch.sizes
    if len(sizes) and (sizes == sizes[0]).all():
        rows = batch.stack()
        return rows if rows.flags.writeable else rows.copy()
    data, offsets = batch.concat()
    return numpy.split(data, offsets[1:-1].tolist())


def copies_of(batch: _native.Batch) -> dict[str, Any]:
    """{"samples", "labels", "indices"} of a batch."""
    return {"samples": samples_of(batch), "labels": batch.labels,
            "indices": batch.indices.astype("int64")}
