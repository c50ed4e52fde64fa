#!/usr/bin/python3
"""Rows of a numpy.memmap in random order: memmap.py FILE [ROWS]"""

import random
import sys

import numpy

ROW = 4096


def main(path, rows="2000"):
    data = numpy.memmap(path, dtype=numpy.uint8, mode="r")
    order = random.Random(1)
    count = len(data) // ROW
    print(sum(int(data[order.randrange(count) * ROW:][:ROW].sum()) for _ in range(int(rows))))


if __name__ == "__main__":
    main(*sys.argv[1:])
