"""Decoding in a peer (docs/peers.md): the same for all of them, and how long the loop waited for it.

raw    samples stay the bytes of their files
jpeg   each is decoded by Pillow into rows of RGB, which lets go of the interpreter's lock meanwhile
"""
import io
import os
import struct
import sys
import time

import xxhash

WORDS = ("raw", "jpeg")
MODULUS = 1 << 64


class Undecodable(Exception):
    """One line that names the file."""


def split(variant):
    """("lba:device", "jpeg") of "lba:device:jpeg"; no decoder is ""."""
    rest, _, last = variant.rpartition(":")
    return (rest, last) if last in WORDS else (variant, "")


def need_pillow():
    """Before anything is measured: it is there, and loaded."""
    try:
        from PIL import Image
    except ImportError as missing:
        print(f"{missing} (Debian: python3-pil)", file=sys.stderr)
        sys.exit(77)
    Image.preinit()  # else each worker imports its decoders with the first image


def jpeg(data):
    """Its pixels: rows of RGB."""
    from PIL import Image
    with Image.open(io.BytesIO(data), formats=("JPEG",)) as image:
        return (image if image.mode == "RGB" else image.convert("RGB")).tobytes()


# What Pillow raises for a file that is none, or that is cut off or broken.
BROKEN = (OSError, SyntaxError, ValueError, struct.error)


def decoded(data):
    """(pixels, (bytes of the file, their hash, begin, end)): the note is what a peer tells of a sample that it decoded."""
    begin = time.monotonic_ns()
    pixels = jpeg(data)
    end = time.monotonic_ns()
    return pixels, (len(data), xxhash.xxh3_64_hexdigest(data), begin, end)


def undecodable(path, why):
    return Undecodable(" ".join(f"{path}: cannot be decoded as JPEG: {why}".split()))


def busy_while_waiting(spans, waits, slots):
    """ns of `waits` in which decoders were busy: in full while `slots` of them decode, in part while fewer do. Both are
    lists of (begin, end); waits do not overlap."""
    events = sorted([(at, step, 0) for begin, end in spans for at, step in ((begin, 1), (end, -1))] +
                    [(at, 0, step) for begin, end in waits for at, step in ((begin, 1), (end, -1))])
    busy = waiting = last = total = 0
    for at, decoding, wait in events:
        if waiting:
            total += (at - last) * min(busy, slots) / slots
        busy, waiting, last = busy + decoding, waiting + wait, at
    return int(total)


class Told:
    """What a run says of decoding in its end."""

    def __init__(self, decoders):
        self.decoders = decoders
        self.at_once = decoders  # so many can be busy
        self.spans, self.waits, self.hash = [], [], 0  # when samples were decoded, and the loop waited for a batch

    def hash_of(self, index, pixels):
        """A sum, because each loader has an order of its own."""
        self.hash = (self.hash + xxhash.xxh3_64_intdigest(pixels, seed=index)) % MODULUS

    def event(self):
        slots = max(1, min(self.at_once, len(os.sched_getaffinity(0))))
        return {"event": "decode", "decoders": self.decoders, "hash": f"{self.hash:016x}",
                "wait_ns": busy_while_waiting(self.spans, self.waits, slots)}
