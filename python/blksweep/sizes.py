"""Sizes as people write them: 1048576, "64MiB", "10%" of something."""
from __future__ import annotations

import re

_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def bytes_of(name: str, value: int | str, whole: int) -> int:
    """Bytes that `value` stands for.

    >>> bytes_of("window", "64MiB", 0), bytes_of("window", "10%", 1000), bytes_of("window", 7, 0)
    (67108864, 100, 7)
    >>> bytes_of("window", "64 parsec", 0)
    Traceback (most recent call last):
    ...
    ValueError: window='64 parsec': a number of bytes, "64MiB" or "10%"
    """
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise TypeError(f"{name}={value!r}: a number of bytes, \"64MiB\" or \"10%\"")
    if isinstance(value, int):
        found = value
    elif match := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", value):
        found = int(float(match[1]) / 100 * whole)
    elif (match := re.fullmatch(r"\s*(\d+)\s*([KMGT]iB|B|)\s*", value)):
        found = int(match[1]) * _UNITS[match[2]]
    else:
        raise ValueError(f"{name}={value!r}: a number of bytes, \"64MiB\" or \"10%\"")
    if found < 0:
        raise ValueError(f"{name}={value!r}: less than nothing")
    return max(1, found)
