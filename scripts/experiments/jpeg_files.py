#!/usr/bin/python3
"""jpeg_files.py DIR COUNT SIZE...: folders DIR/SIZE of COUNT JPEG files each, of about that size: 4KiB, 110KiB.

Each is a gradient with noise of its own, the noise such that the first one has the size; the seed is its number. So it
decodes as a photograph of that size does, and no file is another's copy.
"""
import io
import multiprocessing
import os
import pathlib
import shutil
import sys

import numpy
from PIL import Image

QUALITY = 90
SIDES = [(8 << 10, (112, 84)), (200 << 10, (500, 375)), (1 << 30, (1000, 750))]  # up to so many bytes: width and height


def jpeg(number, sides, noise):
    width, height = sides
    rng = numpy.random.default_rng(number)
    y, x = numpy.mgrid[0:height, 0:width].astype("f4")
    turns = rng.uniform(-1, 1, (3, 2))
    planes = numpy.stack([127 + 127 * (x / width * a + y / height * b) / 2 for a, b in turns], axis=-1)
    pixels = numpy.clip(planes + rng.normal(0, noise, planes.shape), 0, 255).astype("u1")
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=QUALITY)
    return out.getvalue()


def noise_for(size, sides):
    """Standard deviation of the noise, of 255, with which a file has that size."""
    low, high = 0.0, 100.0
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if len(jpeg(0, sides, middle)) < size else (low, middle)
    return (low + high) / 2


def write(task):
    path, number, sides, noise = task
    path.write_bytes(jpeg(number, sides, noise))


def make(folder, count, size):
    sides = next(sides for most, sides in SIDES if size <= most)
    noise = noise_for(0.97 * size, sides)  # within whole blocks
    folder.mkdir(parents=True)
    with multiprocessing.Pool(len(os.sched_getaffinity(0))) as pool:
        pool.map(write, [(folder / f"{number:06}.jpg", number, sides, noise) for number in range(count)], chunksize=16)


def main(root, count, *sizes):
    for size in sizes:
        final, new = pathlib.Path(root, size), pathlib.Path(root, f"{size}.part")
        if not final.exists():
            shutil.rmtree(new, ignore_errors=True)
            make(new, int(count), int(size.removesuffix("KiB")) << 10)
            new.rename(final)


if __name__ == "__main__":
    main(*sys.argv[1:])
