"""Training data read in a planned order: sorted and merged by disk address, shuffled in a window.

    import blksweep

    loader = blksweep.Loader("/data/train", order="chunked", merge="device",
                             shuffle="reservoir", window="10%", batch_size=256)
    for batch in loader:            # an epoch; the next loop is the next epoch
        train(batch.stack(), batch.labels)

See docs/python.md of the project.
"""
from ._native import Batch, ForkedError, HeldError
from .catalog import Catalog
from .loader import Loader

__all__ = ["Batch", "Catalog", "ForkedError", "HeldError", "Loader"]
