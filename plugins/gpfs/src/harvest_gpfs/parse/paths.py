"""Names of many lines at once: escapes undone, bytes that are not UTF-8 shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .reference import shown
from .vectors import HEX, Flags, Ints

__all__ = ["flags", "readable", "replaced", "spans", "unescaped"]


def spans(data: Any, start: Ints, stop: Ints) -> pa.Array:
    """Pieces of a buffer as an array; none begins before the one before it ends."""
    marks = np.empty(2 * len(start) + 1, np.int32)
    marks[0:-1:2], marks[1:-1:2], marks[-1] = start, stop, len(data)
    # pieces and what lies between them share the buffer; every second one is wanted
    both = pa.Array.from_buffers(
        pa.binary(), len(marks) - 1, [None, pa.py_buffer(marks), pa.py_buffer(data)]
    )
    return both.take(pa.array(np.arange(0, 2 * len(start), 2)))


def flags(values: pa.Array) -> Flags:
    """An array of true and false for numpy."""
    found: Flags = values.to_numpy(zero_copy_only=False)
    return found


def unescaped(data: Any, start: Ints, stop: Ints, escape: bytes) -> tuple[pa.Array, Flags]:
    """The bytes that names stand for, and which are damaged (those are not to be used).

    Names are pieces of a buffer, each with at least one byte behind it.
    escape: what begins an escape: ``%``, a backslash, or nothing.
    """
    if escape == b"%":
        return _percent(data, start, stop)
    names = spans(data, start, stop)
    return _backslash(names) if escape else (names, flags(pc.match_substring(names, b"\0")))


_SLASH = np.frombuffer(b"%2F", np.uint8)


def _percent(data: Any, start: Ints, stop: Ints) -> tuple[pa.Array, Flags]:
    offsets, encoded = _contents(spans(data, start, stop + 1))
    data = np.zeros(len(encoded) + 2, np.uint8)
    data[:-2] = encoded
    data[offsets[1:] - 1] = 0  # each name ends with a NUL, and has no other
    damaged = np.zeros(len(start), bool)
    if np.count_nonzero(data) < len(encoded) - len(start):
        nul = np.setdiff1d(np.flatnonzero(data[:-2] == 0), offsets[1:] - 1)
        damaged |= _with(nul, offsets)
        data[nul] = 1
    # most escapes are those of slashes: they are undone by a few operations on all bytes
    slash = (data[:-2] == _SLASH[0]) & (data[1:-1] == _SLASH[1]) & (data[2:] == _SLASH[2])
    places = np.flatnonzero((data[:-2] == _SLASH[0]) ^ slash)
    data[:-2] += slash * np.uint8(ord("/") - _SLASH[0])
    high, low = HEX[data[places + 1]], HEX[data[places + 2]]
    value = (high << 4) | low
    wrong = (high > 15) | (low > 15) | (value == 0)
    damaged |= _with(places[wrong], offsets)
    places = places[~wrong]
    data[places] = value[~wrong]
    kept = np.ones(len(data), bool)
    kept[1:-1] ^= slash
    kept[2:] ^= slash
    kept[places + 1] = False
    kept[places + 2] = False
    kept[-2:] = False
    out = data[kept]
    ends = np.flatnonzero(out == 0)
    begins = np.zeros_like(ends)
    begins[1:] = ends[:-1] + 1
    return spans(out, begins, ends), damaged


def _contents(names: pa.Array) -> tuple[Ints, Any]:
    """Where each name begins and the last one ends, and the bytes of all."""
    _, offsets_buffer, buffer = names.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32, len(names) + 1, names.offset * 4)
    first, last = int(offsets[0]), int(offsets[-1])
    data = (
        np.frombuffer(buffer, np.uint8, last - first, first)
        if last > first
        else np.empty(0, np.uint8)
    )
    return offsets.astype(np.int64) - first, data


def _with(places: Ints, offsets: Ints) -> Flags:
    """Which names have a byte at one of these places."""
    found = np.zeros(len(offsets) - 1, bool)
    found[np.searchsorted(offsets, places, "right") - 1] = True
    return found


def _backslash(names: pa.Array) -> tuple[pa.Array, Flags]:
    damaged, escaped = (flags(pc.match_substring(names, text)) for text in (b"\0", b"\\"))
    some = np.flatnonzero(escaped & ~damaged)
    if not len(some):
        return names, damaged
    # pairs of backslashes are set aside, so that what follows them is not taken for an escape
    part = pc.replace_substring(names.take(pa.array(some)), b"\\\\", b"\0")
    part = pc.replace_substring(part, b"\\n", b"\n")
    damaged[some] = flags(pc.match_substring(part, b"\\"))
    return replaced(names, some, pc.replace_substring(part, b"\0", b"\\")), damaged


def readable(names: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Names as text, and their bytes where the text differs."""
    try:
        return names.cast(pa.string()), pa.nulls(len(names), pa.binary())
    except pa.ArrowInvalid:  # some are not UTF-8
        offsets, data = _contents(names)
    some = np.flatnonzero(_with(np.flatnonzero(data > 127), offsets))
    made = [shown(name) for name in names.take(pa.array(some)).to_pylist()]
    texts = pa.array([text.encode() for text, _ in made], pa.binary())
    where = np.full(len(names), len(made), np.int64)
    where[some] = np.arange(len(made))
    raw = pa.array([raw for _, raw in made], pa.binary())
    exact = raw.take(pa.array(where, mask=where == len(made)))
    return replaced(names, some, texts).cast(pa.string()), exact


def replaced(names: pa.Array, some: Ints, others: pa.Array) -> pa.Array:
    """Names with some of them replaced, in their order."""
    order = np.arange(len(names))
    order[some] = len(names) + np.arange(len(some))
    return pa.concat_arrays([names, others]).take(pa.array(order))
