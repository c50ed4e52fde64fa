"""Sizes as people write them: 1048576, "64MiB", "10%"."""
from __future__ import annotations

import re

_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def bytes_of(name: str, value: int | str) -> int:
    """Bytes that `value` stands for.

    >>> bytes_of("chunk", "64MiB"), bytes_of("chunk", 7)
    (67108864, 7)
    >>> bytes_of("chunk", "64 parsec")
    Traceback (most recent call last):
    ...
    ValueError: chunk='64 parsec': a number of bytes, or one with a unit ("64MiB")
    """
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise TypeError(f"{name}={value!r}: a number of bytes, or one with a unit (\"64MiB\")")
    match = re.fullmatch(r"\s*(\d+)\s*([KMGT]iB|B|)\s*", str(value))
    if not match or not int(match[1]):
        raise ValueError(f"{name}={value!r}: a number of bytes, or one with a unit (\"64MiB\")")
    return int(match[1]) * _UNITS[match[2]]


def share_of(name: str, value: int | str) -> dict:
    """The loader's options for a size; its share is of what an epoch takes in memory.

    >>> share_of("window", "10%"), share_of("lookahead", "1KiB")
    ({'window_percent': 10.0}, {'lookahead_bytes': 1024})
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", value) if isinstance(value, str) else None
    if match and float(match[1]) > 0:
        return {f"{name}_percent": float(match[1])}
    return {f"{name}_bytes": bytes_of(name, value)}
