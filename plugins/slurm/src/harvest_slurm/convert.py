"""Whole columns of sacct's text as typed columns.

Every converter has two halves: a fast one over all bytes at once for the spellings that make up
nearly all of a dump, and the functions of ``scalars`` for the few distinct texts that are left
empty by it.  The second half decides alone what is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

import attrs
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from . import scalars
from .columns import Column, Shape
from .digits import arrow
from .scalars import Word

__all__ = ["Context", "Converted", "convert", "finish", "nulled", "series"]

STRING: Final = pa.string()
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")

Array: TypeAlias = Any  # pyarrow ships no type information


@attrs.define
class Context:
    """What conversion depends on beside the text.

    zone: zone of times without one.
    cut: values may be cut to the width of their column, which a final ``+`` shows.
    naive_times: set when a time without zone was met.
    elapsed_from_times: set when End minus Start was taken for want of Elapsed and Suspended.
    cpus_from_request: set when CPUs asked for were taken for want of those allocated.
    """

    zone: ZoneInfo
    cut: bool = False
    naive_times: bool = False
    elapsed_from_times: bool = False
    cpus_from_request: bool = False


@attrs.frozen
class Converted:
    """A converted column.

    values: by suffix of the record's column (mostly only the empty suffix).
    words: text that is no value but no mistake either, to be kept in ``extra``; or None.
    errors: why a text cannot be read, empty elsewhere; or None where all can.
    """

    values: dict[str, Array]
    words: Array | None = None
    errors: Array | None = None


def series(column: Array) -> pl.Series:
    """A column as polars sees it, without copying text."""
    made = pl.from_arrow(column)
    assert isinstance(made, pl.Series)
    return made


def nulled(column: Column) -> Array:
    """A column of text with empty texts as nulls; shares the text."""
    text = column.text
    if text.offset:
        return pc.if_else(pc.not_equal(text, ""), text, pa.scalar(None, STRING))
    bits = np.packbits(column.full, bitorder="little")
    return pa.Array.from_buffers(STRING, len(text), [pa.py_buffer(bits), *text.buffers()[1:]])


def finish(
    column: Column,
    fast: dict[str, Array],
    parse: Callable[[str], Any],
    left: Any,
    *,
    cut: bool = False,
) -> Converted:
    """Read what the fast half left empty, once per distinct text.

    parse gives a value for one column, or a tuple where ``fast`` has several.
    left: mask of the texts to read, None where there are none.
    """
    if left is None or not left.any():
        return Converted(fast)
    todo = pa.array(left)
    texts = column.text if left.all() else column.some(np.flatnonzero(left))
    encoded = texts.dictionary_encode()
    distinct, index = encoded.dictionary, encoded.indices
    rows: list[tuple[Any, ...]] = []
    words: list[str | None] = []
    errors: list[str | None] = []
    for text in distinct.to_pylist():
        word = error = None
        value: Any = (None,) * len(fast)
        try:
            got = parse(text)
            value = got if isinstance(got, tuple) else (got,)
        except (ValueError, OverflowError) as problem:
            if cut and text.endswith("+"):
                word = text
            else:
                error = str(problem)
        if any(isinstance(part, Word) for part in value):
            word, value = text, (None,) * len(fast)
        rows.append(value)
        words.append(word)
        errors.append(error)

    def scatter(values: list[Any], kind: Any, base: Array) -> Array:
        found = pa.array(values, kind)
        if len(index) == len(base):
            return found.take(index)
        if not pa.types.is_nested(kind):
            return pc.replace_with_mask(base, todo, found.take(index))
        places = pc.cast(pc.add(index, len(base)), pa.int64())
        own = pa.array(range(len(base)), pa.int64())
        both = pa.chunked_array([base, found])
        return both.take(pc.replace_with_mask(own, todo, places)).combine_chunks()

    values = {
        name: scatter([row[place] for row in rows], base.type, base)
        for place, (name, base) in enumerate(fast.items())
    }
    empty = pa.nulls(len(left), STRING)
    return Converted(
        values,
        scatter(words, STRING, empty) if any(words) else None,
        scatter(errors, STRING, empty) if any(errors) else None,
    )


def _text(column: Column, ctx: Context) -> Converted:
    return Converted({"": nulled(column)})


def _numbers(
    column: Column,
    ctx: Context,
    shape: Shape,
    kind: Any,
    parse: Callable[[str], Any],
    unit: float | None = None,
) -> Converted:
    """Numbers of one shape, times ``unit``; what is not of it by a function of ``scalars``."""
    read = column.read(shape)
    (values,) = read.values
    if unit is not None:
        values = values * unit
    return finish(column, {"": arrow(values, read.good, kind)}, parse, read.left, cut=ctx.cut)


def _int(column: Column, ctx: Context) -> Converted:
    return _numbers(column, ctx, "whole", pa.int64(), scalars.integer)


def _count(column: Column, ctx: Context) -> Converted:
    return _numbers(column, ctx, "whole", pa.int64(), scalars.count)


def _seconds(column: Column, ctx: Context) -> Converted:
    return _numbers(column, ctx, "whole", pa.float64(), scalars.seconds, 1.0)


def _minutes(column: Column, ctx: Context) -> Converted:
    return _numbers(column, ctx, "whole", pa.float64(), scalars.minutes, 60.0)


def _duration(column: Column, ctx: Context) -> Converted:
    return _numbers(column, ctx, "clock", pa.float64(), scalars.duration)


def _memory(column: Column, ctx: Context) -> Converted:
    return _numbers(column, ctx, "decimal", pa.int64(), scalars.memory)


def _distinct(
    column: Column, ctx: Context, kinds: dict[str, Any], parse: Callable[[str], Any]
) -> Converted:
    """Columns of few distinct texts: read each once."""
    empty = {name: pa.nulls(len(column), kind) for name, kind in kinds.items()}
    return finish(column, empty, parse, column.full, cut=ctx.cut)


def _reqmem(column: Column, ctx: Context) -> Converted:
    return _distinct(column, ctx, {"": pa.int64(), "per": STRING}, scalars.reqmem)


def _exit(column: Column, ctx: Context) -> Converted:
    read = column.read("pair")
    code, signal = (arrow(values, read.good, pa.int64()) for values in read.values)
    fast = {"": code, "signal": signal}
    return finish(column, fast, scalars.exit_code, read.left, cut=ctx.cut)


def _state(column: Column, ctx: Context) -> Converted:
    def parse(text: str) -> Any:
        return scalars.state(text, cut=ctx.cut)

    return _distinct(column, ctx, {"": STRING, "by": STRING}, parse)


def _time(column: Column, ctx: Context) -> Converted:
    read = column.read("moment")
    ctx.naive_times |= bool(read.good.any())
    moments = arrow(*read.values, read.good, pa.timestamp("us"))
    if ctx.zone.key == "UTC":
        moments = moments.view(TIMESTAMP)
    else:
        # a time that clocks skip stays empty and gets its reason below
        placed = series(moments).dt.replace_time_zone(
            ctx.zone.key, ambiguous="earliest", non_existent="null"
        )
        moments = placed.dt.convert_time_zone("UTC").to_arrow().cast(TIMESTAMP)
    if read.left is not None:
        moments = _other_times(column, read.left, moments)
    left = None
    if read.left is not None or moments.null_count > len(column) - int(read.good.sum()):
        left = moments.is_null().to_numpy(zero_copy_only=False) & column.full

    def parse(text: str) -> Any:
        ctx.naive_times |= scalars.has_no_zone(text)
        return scalars.time(text, ctx.zone)

    return finish(column, {"": moments}, parse, left, cut=ctx.cut)


def _other_times(column: Column, left: Any, moments: Array) -> Array:
    """Fill in what is epoch seconds or has an offset from UTC."""
    texts = Column(column.some(np.flatnonzero(left)))
    width = texts.spans.length
    seconds = texts.read("whole")
    found = arrow(seconds.values[0] * 1_000_000, seconds.good & (width < 12), TIMESTAMP)
    if (width > 19).any():
        zoned = pc.if_else(pa.array(width > 19), texts.text, pa.scalar(None, STRING))
        read = series(zoned).str.to_datetime("%Y-%m-%dT%H:%M:%S%z", strict=False, time_unit="us")
        found = pc.coalesce(found, read.dt.convert_time_zone("UTC").to_arrow().cast(TIMESTAMP))
    return pc.replace_with_mask(moments, pa.array(left), found)


def _tres(column: Column, ctx: Context) -> Converted:
    from .tres import allocations

    return allocations(column, cut=ctx.cut)


def _usage(column: Column, ctx: Context) -> Converted:
    from .tres import usages

    return usages(column, cut=ctx.cut)


_KINDS: Final[dict[str, Callable[[Column, Context], Converted]]] = {
    "text": _text,
    "int": _int,
    "seconds": _seconds,
    "minutes": _minutes,
    "duration": _duration,
    "memory": _memory,
    "count": _count,
    "reqmem": _reqmem,
    "exit": _exit,
    "state": _state,
    "time": _time,
    "tres": _tres,
    "usage": _usage,
}


def convert(kind: str, column: Column, ctx: Context) -> Converted:
    """A column of text, of one of the kinds that ``fields`` names, as typed columns."""
    return _KINDS[kind](column, ctx)
