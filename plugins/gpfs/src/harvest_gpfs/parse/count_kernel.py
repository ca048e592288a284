"""Counting the lines of a chunk, compiled by numba; ``counting`` does the same without it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import types

from .native import native

__all__ = ["count"]

_NEWLINE: Final = np.uint8(10)
_HASH: Final = np.uint8(35)
_BRACKET: Final = np.uint8(91)

_TOGETHER: Final = 128
"""Bytes whose counts fit in one byte each, so that a processor adds many of them at once."""


@native(types.void(types.CPointer(types.uint8), types.int64, types.CPointer(types.int64)))
def count(data: Any, size: Any, result: Any) -> None:
    """Count the lines that end among ``size`` bytes, of which the first begins a line.

    result: lines, and those of them that begin with ``#`` or ``[`` or are empty.
    """
    while size > 0 and data[size - 1] != _NEWLINE:
        size -= 1
    result[0] = result[1] = 0
    if size == 0:
        return
    lines = np.int64(1)
    remarks = np.int64(data[0] == _NEWLINE or data[0] == _HASH or data[0] == _BRACKET)
    place = np.int64(0)
    while place < size - 1:
        stop = place + _TOGETHER
        if stop > size - 1:
            stop = size - 1
        ends = begun = np.uint8(0)
        for at in range(place, stop):
            end = np.uint8(data[at] == _NEWLINE)
            first = data[at + 1]
            remark = (first == _NEWLINE) | (first == _HASH) | (first == _BRACKET)
            ends = np.uint8(ends + end)
            begun = np.uint8(begun + (end & np.uint8(remark)))
        lines += np.int64(ends)
        remarks += np.int64(begun)
        place = stop
    result[0] = lines
    result[1] = remarks
