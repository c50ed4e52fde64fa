#!/usr/bin/python3
"""Makes a zarr array, or reads it batch by batch through dask: zarr_batches.py make|read FOLDER"""

import sys

import dask
import dask.array
import numpy
import zarr

ROWS, SIDE, BATCH = 256, 64, 32


def make(path):
    array = zarr.open(path, mode="w", shape=(ROWS, SIDE, SIDE), chunks=(8, SIDE, SIDE), dtype="u1")
    array[:] = numpy.random.default_rng(1).integers(0, 255, (ROWS, SIDE, SIDE), dtype="u1")


def read(path):
    array = dask.array.from_zarr(path)
    with dask.config.set(scheduler="threads", num_workers=4):
        print(sum(int(array[at:at + BATCH].sum().compute()) for at in range(0, ROWS, BATCH)))


if __name__ == "__main__":
    {"make": make, "read": read}[sys.argv[1]](sys.argv[2])
