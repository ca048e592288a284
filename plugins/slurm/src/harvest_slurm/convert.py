"""Whole columns of sacct's text as typed columns.

Every converter has two halves: a fast one of Arrow and polars kernels for the spellings that make
up nearly all of a dump, and the functions of ``scalars`` for the few distinct texts that are left
empty by it.  The second half decides alone what is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

import attrs
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from . import scalars
from .scalars import Word

__all__ = ["Context", "Converted", "convert", "finish", "nulled", "scaled", "series", "unsigned"]

STRING: Final = pa.string()
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")

Array: TypeAlias = Any  # pyarrow ships no type information


@attrs.define
class Context:
    """What conversion depends on beside the text.

    zone: zone of times without one.
    cut: values may be cut to the width of their column, which a final ``+`` shows.
    naive_times: set when a time without zone was met.
    """

    zone: ZoneInfo
    cut: bool = False
    naive_times: bool = False


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


def nulled(column: Array) -> Array:
    """A column of text with empty texts as nulls; shares the text."""
    if len(column) == 0 or column.null_count:
        return column
    present = pc.not_equal(column, "")
    if column.offset or present.offset:  # slices do not share their bitmaps' origin
        return pc.if_else(present, column, pa.scalar(None, STRING))
    buffers = column.buffers()
    return pa.Array.from_buffers(STRING, len(column), [present.buffers()[1], *buffers[1:]])


def finish(
    column: Array,
    fast: dict[str, Array],
    parse: Callable[[str], Any],
    *,
    cut: bool = False,
    todo: Array | None = None,
) -> Converted:
    """Read what the fast half left empty, once per distinct text.

    parse gives a value for one column, or a tuple where ``fast`` has several.
    """
    first = next(iter(fast.values()))
    if todo is None:
        todo = pc.and_(pc.is_null(first), pc.not_equal(column, ""))
    if not pc.any(todo).as_py():
        return Converted(fast)
    picked = column.filter(todo)
    distinct = pc.unique(picked)
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
    index = pc.index_in(picked, value_set=distinct)

    def scatter(values: list[Any], kind: Any, base: Array) -> Array:
        found = pa.array(values, kind)
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
    empty = pa.nulls(len(column), STRING)
    return Converted(
        values,
        scatter(words, STRING, empty) if any(words) else None,
        scatter(errors, STRING, empty) if any(errors) else None,
    )


def unsigned(column: Array) -> Array:
    """The column with texts that hold a ``+`` made empty: casts take a sign, sacct has none."""
    signed = pc.match_substring(column, "+")
    return pc.if_else(signed, "", column) if pc.any(signed).as_py() else column


def _text(column: Array, ctx: Context) -> Converted:
    return Converted({"": nulled(column)})


def _int(column: Array, ctx: Context) -> Converted:
    values = series(column).cast(pl.Int64, strict=False).to_arrow()
    return finish(column, {"": values}, scalars.integer, cut=ctx.cut)


def _seconds(column: Array, ctx: Context) -> Converted:
    return _raw(column, ctx, 1, scalars.seconds)


def _minutes(column: Array, ctx: Context) -> Converted:
    return _raw(column, ctx, 60, scalars.minutes)


def _raw(column: Array, ctx: Context, unit: int, parse: Callable[[str], Any]) -> Converted:
    values = series(unsigned(column)).cast(pl.UInt32, strict=False).cast(pl.Float64) * unit
    return finish(column, {"": values.to_arrow()}, parse, cut=ctx.cut)


_PATTERN: Final = (
    r"^(?:(\d{1,9})-(\d{1,9}):(\d+):(\d+)|(?:(\d{1,9}):)?(\d{1,9}):(\d+))(?:\.(\d{1,6}))?$"
)


def _duration(column: Array, ctx: Context) -> Converted:
    # HH:MM:SS and MM:SS.mmm are times of day to Arrow, whose cast is fast and takes no nonsense
    width = pc.binary_length(column)
    none = pa.scalar(None, STRING)
    try:
        whole = pc.cast(
            pc.binary_join_element_wise(
                "1970-01-01T", pc.if_else(pc.equal(width, 8), column, none), ""
            ),
            pa.timestamp("s"),
        )
        thousandths = pc.cast(
            pc.binary_join_element_wise(
                "1970-01-01T00:", pc.if_else(pc.equal(width, 9), column, none), ""
            ),
            pa.timestamp("ms"),
        )
        values = pc.coalesce(
            pc.cast(whole.view(pa.int64()), pa.float64()),
            pc.divide(pc.cast(thousandths.view(pa.int64()), pa.float64()), 1000.0),
        )
    except pa.ArrowInvalid:
        values = pa.nulls(len(column), pa.float64())
    left = pc.and_(pc.is_null(values), pc.not_equal(column, ""))
    if pc.any(left).as_py():
        values = pc.replace_with_mask(values, left, _other_durations(column.filter(left)))
    return finish(column, {"": values}, scalars.duration, cut=ctx.cut)


def _other_durations(column: Array) -> Array:
    parts = series(column).str.extract_groups(_PATTERN).struct.unnest()
    numbers = parts.select(pl.nth(range(7)).cast(pl.Int64, strict=False), pl.nth(7))
    numbers.columns = ["d", "dh", "dm", "ds", "h", "m", "s", "f"]
    whole = pl.coalesce(
        pl.col("d") * 86_400 + pl.col("dh") * 3_600 + pl.col("dm") * 60 + pl.col("ds"),
        pl.col("h").fill_null(0) * 3_600 + pl.col("m") * 60 + pl.col("s"),
    )
    micros = pl.col("f").fill_null("").str.pad_end(6, "0").cast(pl.Int64)
    total = pl.when(whole < 2**32).then(whole * 1_000_000 + micros).cast(pl.Float64)
    # one division of whole numbers rounds as the decimal text does; polars would multiply
    return pc.divide(numbers.select(total).to_series().to_arrow(), 1_000_000.0)


_UNITS: Final = {unit: 1024**power for power, unit in enumerate("KMGTP", start=1)}


def scaled(text: pl.Expr) -> pl.Expr:
    """Whole numbers with or without a fraction and a unit of 1024; null for all else."""
    unit = text.str.slice(-1)
    scale = unit.replace_strict(list(_UNITS), list(_UNITS.values()), default=None)
    number = pl.when(scale.is_not_null()).then(text.str.head(-1)).otherwise(text)
    whole = number.cast(pl.UInt64, strict=False).cast(pl.Int64, strict=False)
    broken = (
        pl.when(number.str.contains(r"^\d{1,9}\.\d{1,3}$"))
        .then(number)
        .cast(pl.Float64, strict=False)
    )
    # up to here floating point rounds as exact arithmetic does, see the tests
    product = broken * scale.fill_null(1)
    rounded = pl.when(product < 1e13).then((product + 0.5).floor()).cast(pl.Int64, strict=False)
    fits = scale.is_null() | ((whole < 2**32) & (scale <= 2**30))
    exact = pl.when(fits).then(whole * scale.fill_null(1))
    return pl.coalesce(exact, rounded)


def _memory(column: Array, ctx: Context) -> Converted:
    plain = unsigned(column)
    text = series(plain)
    kilos = pc.ends_with(plain, "K")
    if pc.all(pc.or_(kilos, pc.equal(plain, ""))).as_py():  # as MaxRSS is, nearly always
        values = text.str.head(-1).cast(pl.UInt32, strict=False).cast(pl.Int64) * 1024
    else:
        values = text.to_frame("text").select(scaled(pl.col("text"))).to_series()
    return finish(column, {"": values.to_arrow()}, scalars.memory, cut=ctx.cut)


def _count(column: Array, ctx: Context) -> Converted:
    values = series(column).cast(pl.Int64, strict=False).to_arrow()
    return finish(column, {"": values}, scalars.count, cut=ctx.cut)


def _distinct(
    column: Array, ctx: Context, kinds: dict[str, Any], parse: Callable[[str], Any]
) -> Converted:
    """Columns of few distinct texts: read each once."""
    empty = {name: pa.nulls(len(column), kind) for name, kind in kinds.items()}
    return finish(column, empty, parse, cut=ctx.cut)


def _reqmem(column: Array, ctx: Context) -> Converted:
    return _distinct(column, ctx, {"": pa.int64(), "per": STRING}, scalars.reqmem)


def _exit(column: Array, ctx: Context) -> Converted:
    return _distinct(column, ctx, {"": pa.int64(), "signal": pa.int64()}, scalars.exit_code)


def _state(column: Array, ctx: Context) -> Converted:
    def parse(text: str) -> Any:
        return scalars.state(text, cut=ctx.cut)

    return _distinct(column, ctx, {"": STRING, "by": STRING}, parse)


def _time(column: Array, ctx: Context) -> Converted:
    width = pc.binary_length(column)
    plain = pc.if_else(pc.equal(width, 19), column, pa.scalar(None, STRING))
    try:
        naive = series(pc.cast(plain, pa.timestamp("us")))
    except pa.ArrowInvalid:
        naive = series(plain).str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="us")
    if naive.null_count() < len(naive):
        ctx.naive_times = True
    # a time that clocks skip stays empty and gets its reason below
    local = naive.dt.replace_time_zone(ctx.zone.key, ambiguous="earliest", non_existent="null")
    moments = local.dt.convert_time_zone("UTC")
    if moments.null_count():
        text = series(column)
        epoch = series(unsigned(column)).cast(pl.UInt32, strict=False).cast(pl.Int64) * 1_000_000
        moments = moments.fill_null(epoch.cast(pl.Datetime("us", "UTC")))
        if pc.any(pc.greater(width, 19)).as_py():
            zoned = text.to_frame("text").select(
                pl.when(pl.col("text").str.len_bytes() > 19)
                .then(pl.col("text"))
                .str.to_datetime("%Y-%m-%dT%H:%M:%S%z", strict=False, time_unit="us")
                .dt.convert_time_zone("UTC")
            )
            moments = moments.fill_null(zoned.to_series())
    return finish(
        column,
        {"": moments.to_arrow().cast(TIMESTAMP)},
        lambda text: scalars.time(text, ctx.zone),
        cut=ctx.cut,
    )


def _tres(column: Array, ctx: Context) -> Converted:
    from .tres import allocations

    return allocations(column, cut=ctx.cut)


def _usage(column: Array, ctx: Context) -> Converted:
    from .tres import usages

    return usages(column, cut=ctx.cut)


_KINDS: Final[dict[str, Callable[[Array, Context], Converted]]] = {
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


def convert(kind: str, column: Array, ctx: Context) -> Converted:
    """A column of text, of one of the kinds that ``fields`` names, as typed columns."""
    return _KINDS[kind](column, ctx)
