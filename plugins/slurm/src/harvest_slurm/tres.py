"""Trackable resources: ``cpu=4,mem=8G,gres/gpu=1`` as maps of numbers.

Sizes become bytes (``mem=8G``), CPU times seconds (``cpu=00:02:18``).  Slurm's marks for "not
set" (2^64-1, 2^64-2) become null values of their key.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from . import scalars
from .columns import Column
from .convert import Converted, finish
from .digits import arrow
from .scalars import Word

__all__ = ["allocations", "parse", "usages"]


def parse(text: str) -> list[tuple[str, float | int | None]]:
    """The entries of one text, in full.  Raises ValueError naming one that cannot be read."""
    found: list[tuple[str, float | int | None]] = []
    for entry in text.split(","):
        key, equals, value = entry.partition("=")
        if not (key and equals):
            raise ValueError(f"{entry!r} is no entry of the form RESOURCE=AMOUNT")
        try:
            read = scalars.duration(value) if ":" in value else scalars.memory(value)
        except ValueError:
            raise ValueError(f"{entry!r} has no amount") from None
        found.append((key, None if isinstance(read, Word) else read))
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
    integers = pa.types.is_integer(kind)
    found = column.entries(integers=integers)
    if found is None:  # some text is no list of entries: find out which, one by one
        maps, good = pa.nulls(len(column), pa.map_(pa.string(), kind)), np.zeros(len(column), bool)
    else:
        good = found.listed.copy()
        if not found.fine.all():
            rows = np.repeat(np.arange(len(good)), np.diff(found.offsets))
            good[rows[~found.fine]] = False
        maps = pa.MapArray.from_arrays(
            pa.array(found.offsets, mask=np.append(~found.listed, False)),
            found.keys,
            arrow(found.amounts, found.fine, kind),
        )

    def one(text: str) -> list[tuple[str, float | int | None]]:
        return [
            (key, value if value is None else int(value) if integers else float(value))
            for key, value in parse(text)
        ]

    return finish(column, {"": maps}, one, column.full & ~good, cut=cut)
