#!/usr/bin/env python3
"""Makes a folder of arrays like those that an image data set becomes before training.

usage: scripts/experiments/float_arrays.py DIR SIZE [ARRAY_BYTES]
Each file is a smooth picture of 8 bits with a little noise, normalised to float32: what half
precision and compression can do with it is what they can do with such data, which they could not with random bytes.
SIZE and ARRAY_BYTES are bytes with KiB, MiB or GiB; 602112 bytes (3 x 224 x 224) unless said.
DIR must not exist; it appears when it is complete. The same sizes give the same bytes.
exit: 0 done, 1 what could not be written, 2 usage.
"""
import pathlib
import re
import shutil
import sys

UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
IMAGE_BYTES = 3 * 224 * 224 * 4
CLASSES = 10
GRID = 14  # cells of a picture's coarse side
NOISE = 1.5  # levels of 255


def parse_size(text):
    """Bytes of "64MiB"; None when it is no size."""
    match = re.fullmatch(r"(\d+)(\w*)", text)
    return int(match[1]) * UNITS[match[2]] if match and match[2] in UNITS else None


def picture(numpy, rng, floats):
    """So many float32: bilinear between the cells of a coarse grid, quantised, normalised."""
    side = max(2, int((floats / 3) ** 0.5))
    at = numpy.linspace(0, GRID - 1.001, side)
    low, share = at.astype(int), (at % 1)[:, None]
    planes = []
    for _ in range(3):
        coarse = rng.uniform(0, 255, (GRID, GRID))
        rows = coarse[low] * (1 - share) + coarse[low + 1] * share
        planes.append((rows[:, low] * (1 - share.T) + rows[:, low + 1] * share.T).ravel())
    levels = numpy.resize(numpy.concatenate(planes), floats)
    levels = numpy.clip(numpy.rint(levels + rng.normal(0, NOISE, floats)), 0, 255)
    return ((levels / 255 - 0.45) / 0.225).astype(numpy.float32)


def write(folder, count, array_bytes):
    import numpy
    for number in range(count):
        rng = numpy.random.Generator(numpy.random.PCG64(number))
        place = folder / f"class{number % CLASSES}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:06}.f32").write_bytes(picture(numpy, rng, array_bytes // 4).tobytes())


def main(argv):
    sizes = [parse_size(text) for text in argv[1:]]
    if len(sizes) not in (1, 2) or not all(sizes):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    array_bytes = sizes[1] if len(sizes) == 2 else IMAGE_BYTES
    folder = pathlib.Path(argv[0])
    part = folder.with_name(folder.name + ".part")
    try:
        if folder.exists():
            raise FileExistsError(f"{folder} exists; name a folder that does not")
        shutil.rmtree(part, ignore_errors=True)  # of one that was cut off
        part.mkdir(parents=True)
        write(part, max(1, sizes[0] // array_bytes), array_bytes)
        part.rename(folder)
    except (OSError, ImportError) as error:
        print(f"float_arrays: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
