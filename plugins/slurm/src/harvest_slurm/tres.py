"""Trackable resources: ``cpu=4,mem=8G,gres/gpu=1`` as maps of numbers.

Sizes become bytes (``mem=8G``), CPU times seconds (``cpu=00:02:18``).  Slurm's marks for "not
set" (2^64-1, 2^64-2) become null values of their key.
"""

from __future__ import annotations

from typing import Any, Final
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from . import scalars
from .convert import Context, Converted, convert, finish, nulled, scaled, series, unsigned
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


def allocations(column: Any, *, cut: bool = False) -> Converted:
    """Amounts as whole numbers; a dump has few distinct texts, each is read once."""
    encoded = column.dictionary_encode()
    read = _maps(encoded.dictionary, pa.int64(), cut)
    return Converted(
        {"": read.values[""].take(encoded.indices)},
        read.words.take(encoded.indices) if read.words is not None else None,
        read.errors.take(encoded.indices) if read.errors is not None else None,
    )


def usages(column: Any, *, cut: bool = False) -> Converted:
    """Amounts as floating-point numbers."""
    return _maps(column, pa.float64(), cut)


_POLARS: Final = {pa.int64(): pl.Int64(), pa.float64(): pl.Float64()}


def _maps(column: Any, kind: Any, cut: bool) -> Converted:
    present = nulled(unsigned(column))
    lists = pc.split_pattern(present, ",")
    parts = (
        series(lists.values)
        .str.splitn("=", 2)
        .struct.rename_fields(["key", "text"])
        .struct.unnest()
    )
    amounts = parts.select(scaled(pl.col("text")).cast(_POLARS[kind])).to_series()
    left = amounts.is_null()
    if left.any():
        amounts = amounts.scatter(left.arg_true(), _clocks(parts["text"].filter(left), kind))
    values = amounts.to_arrow()
    keys = parts["key"].fill_null("").to_arrow().cast(pa.string())
    maps = pa.MapArray.from_arrays(_offsets(present, lists.offsets), keys, values)
    unread = pc.or_(pc.is_null(values), pc.equal(keys, ""))
    rows = pc.unique(pc.list_parent_indices(lists).filter(unread))
    every = pa.array(range(len(column)), pa.int64())
    todo = pc.or_(
        pc.is_in(every, value_set=rows.cast(pa.int64())),
        pc.and_(pc.is_null(present), pc.not_equal(column, "")),
    )

    def one(text: str) -> list[tuple[str, float | int | None]]:
        whole = pa.types.is_integer(kind)
        return [
            (key, value if value is None else int(value) if whole else float(value))
            for key, value in parse(text).items()
        ]

    return finish(column, {"": maps}, one, cut=cut, todo=todo)


def _offsets(present: Any, offsets: Any) -> Any:
    """Offsets of lists, null where the list is: the way Arrow takes nulls of maps."""
    if not present.null_count:
        return offsets
    missing = pa.concat_arrays([pc.is_null(present), pa.array([False])])
    return pc.if_else(missing, pa.scalar(None, pa.int32()), offsets)


def _clocks(text: pl.Series, kind: Any) -> pl.Series:
    """CPU times as seconds, null for all else."""
    clocks = text.to_frame("text").select(
        pl.when(pl.col("text").str.contains(":", literal=True))
        .then(pl.col("text"))
        .otherwise(pl.lit(""))
    )
    read = convert("duration", clocks.to_series().to_arrow().cast(pa.string()), _NO_ZONE)
    return series(read.values[""]).cast(_POLARS[kind])


_NO_ZONE: Final = Context(ZoneInfo("UTC"))
