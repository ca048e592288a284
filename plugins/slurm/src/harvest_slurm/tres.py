"""Trackable resources: ``cpu=4,mem=8G,gres/gpu=1`` as maps of numbers.

Sizes become bytes (``mem=8G``), CPU times seconds (``cpu=00:02:18``).  Slurm's marks for "not
set" (2^64-1, 2^64-2) become null values of their key.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from . import scalars
from .convert import Converted, finish
from .digits import Spans, arrow, clock, decimal, spans, spans_of
from .grid import Column, pieces
from .scalars import Word

__all__ = ["allocations", "parse", "usages"]


def parse(text: str) -> dict[str, float | int | None]:
    """One text, in full.  Raises ValueError naming the entry that cannot be read."""
    found: dict[str, float | int | None] = {}
    for entry in text.split(","):
        key, equals, value = entry.partition("=")
        if not (key and equals):
            raise ValueError(f"{entry!r} is no entry of the form RESOURCE=AMOUNT")
        try:
            read = scalars.duration(value) if ":" in value else scalars.memory(value)
        except ValueError:
            raise ValueError(f"{entry!r} has no amount") from None
        found[key] = None if isinstance(read, Word) else read
    return found


def allocations(column: Column, *, cut: bool = False) -> Converted:
    """Amounts as whole numbers; a dump has few distinct texts, each is read once."""
    encoded = column.text.dictionary_encode()
    read = _maps(Column(encoded.dictionary), pa.int64(), cut)
    return Converted(
        {"": read.values[""].take(encoded.indices)},
        read.words.take(encoded.indices) if read.words is not None else None,
        read.errors.take(encoded.indices) if read.errors is not None else None,
    )


def usages(column: Column, *, cut: bool = False) -> Converted:
    """Amounts as floating-point numbers."""
    return _maps(column, pa.float64(), cut)


def _maps(column: Column, kind: Any, cut: bool) -> Converted:
    text = spans(column.text)
    full = text.length > 0
    entries = _entries(text)
    if entries is None:  # some text is no list of entries: find out which, one by one
        maps, good = pa.nulls(len(full), pa.map_(pa.string(), kind)), np.zeros(len(full), bool)
    else:
        keys, amounts, offsets = entries
        values, fine = _amounts(amounts, whole=kind == pa.int64())
        rows = np.repeat(np.arange(len(full)), np.diff(offsets))
        good = np.ones(len(full), bool)
        good[rows[~fine]] = False
        maps = pa.MapArray.from_arrays(
            pa.array(offsets.astype(np.int32), mask=np.append(~full, False)),
            keys,
            arrow(values, fine, kind),
        )

    def one(text: str) -> list[tuple[str, float | int | None]]:
        whole = pa.types.is_integer(kind)
        return [
            (key, value if value is None else int(value) if whole else float(value))
            for key, value in parse(text).items()
        ]

    return finish(column, {"": maps}, one, ~good & full, cut=cut)


def _entries(text: Spans) -> tuple[Any, Spans, Any] | None:
    """Keys, spans of the amounts, and offsets of the entries of each text.

    text: without gaps.  None unless every text is entries of one ``=`` each, between commas.
    """
    full = text.length > 0
    data, bounds = text.data, np.append(text.start, text.end[-1:])
    equals = np.flatnonzero(data == ord("="))
    commas = np.flatnonzero(data == ord(","))
    if not len(bounds):
        return None
    offsets = np.searchsorted(equals, bounds)
    counts = np.diff(offsets)
    separators = np.diff(np.searchsorted(commas, bounds))
    if not (np.where(full, counts - separators == 1, counts + separators == 0)).all():
        return None
    start, end = np.empty(len(equals), np.int64), np.empty(len(equals), np.int64)
    inner = np.ones(len(equals), bool)
    inner[offsets[:-1][full]] = False
    start[inner], start[~inner] = commas + 1, text.start[full]
    inner[:] = True
    inner[offsets[1:][full] - 1] = False
    end[inner], end[~inner] = commas, text.end[full]
    if not ((start < equals) & (equals < end)).all():
        return None
    keys = pieces(data, start, equals)
    return keys, spans_of(data, equals + 1, end), offsets


def _amounts(text: Spans, *, whole: bool) -> tuple[Any, Any]:
    values, good = decimal(text)
    found = values if whole else values.astype(np.float64)
    if not good.all():
        other = np.flatnonzero(~good)
        clocks = spans_of(text.data, text.start[other], text.end[other])
        seconds, fine = clock(clocks)
        found[other[fine]] = seconds[fine]
        good[other[fine]] = True
    return found, good
