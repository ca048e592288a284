"""Converts columns of sacct's text to typed columns, by the kind of each field.

A fast reader converts all bytes together, in the spellings of nearly all texts of a dump. The
functions of ``scalars`` read the few distinct texts that it leaves, and only they decide what is an
error.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harvest_toolkit.clocks import Shown
from harvest_toolkit.spans import spans

from ..read.columns import Column, series
from . import digits, scalars
from .digits import arrow
from .fields import KINDS, STRING, TIMESTAMP, Kind
from .scalars import NOTHING, Word

Array: TypeAlias = Any  # pyarrow ships no type information


@attrs.define
class Context:
    """What conversion depends on besides the text, and what it noticed.

    zone: zone of times without one. delimiter: text between the fields of a rejected row.
    cut: values may be cut to the width of their column, which a final ``+`` shows.
    cluster: cluster name for rows without one.
    naive_times: a time had no zone.
    elapsed_from_times: End minus Start was used, since Elapsed and Suspended were missing.
    cpus_from_request: requested CPUs were used, since allocated ones were missing.
    undecided: the number of ambiguous times, in an hour that the clock shows twice.
    contradictions: names of two fields -> the number of rows in which they differ, and an example.
    """

    zone: ZoneInfo
    delimiter: str = "|"
    cut: bool = False
    cluster: str | None = None
    naive_times: bool = False
    elapsed_from_times: bool = False
    cpus_from_request: bool = False
    undecided: int = 0
    contradictions: dict[tuple[str, str], list[Any]] = attrs.field(factory=dict)


@attrs.frozen
class Converted:
    """A converted column.

    values: by suffix of the record's column; mostly only the empty suffix.
    words: texts to keep in ``extra``, neither values nor mistakes; or None.
    errors: why a text cannot be read, empty elsewhere; None if all can.
    twice: the rows of ambiguous times, and the microseconds to the second occurrence of each; or
        None.
    distinct: of a column with few distinct texts, their values, and the index of each row's text.
    """

    values: dict[str, Array]
    words: Array | None = None
    errors: Array | None = None
    twice: tuple[Any, Any] | None = None
    distinct: tuple[Array, Array] | None = None


def convert(kind: str, column: Column, ctx: Context) -> Converted:
    """Convert a column of text of one of the kinds of ``fields`` to typed columns."""
    return _METHODS.get(kind, _values)(KINDS[kind], column, ctx)


def _text(kind: Kind, column: Column, ctx: Context) -> Converted:
    """Return the texts themselves, shared, with empty ones as nulls."""
    text = column.text
    if text.offset:
        return Converted({"": pc.if_else(pc.not_equal(text, ""), text, pa.scalar(None, STRING))})
    bits = np.packbits(column.full, bitorder="little")
    buffers = [pa.py_buffer(bits), *text.buffers()[1:]]
    return Converted({"": pa.Array.from_buffers(STRING, len(text), buffers)})


def _values(kind: Kind, column: Column, ctx: Context) -> Converted:
    if kind.fast is None:  # few distinct texts
        empty = {name: pa.nulls(len(column), type_) for name, type_ in kind.types.items()}
        return _finish(column, empty, kind.slow, column.full, cut=ctx.cut)
    *found, good = kind.fast(column.spans)
    pairs = zip(kind.types.items(), found, strict=True)
    fast = {name: arrow(values, good, type_) for (name, type_), values in pairs}
    return _finish(column, fast, kind.slow, column.left(good), cut=ctx.cut)


def _time(kind: Kind, column: Column, ctx: Context) -> Converted:
    """Convert times; those without a zone are in the context's zone."""
    micros, good = kind.fast(column.spans)
    ctx.naive_times |= bool(good.any())
    moments = arrow(micros, good, pa.timestamp("us"))
    rows = later = np.zeros(0, np.int64)
    if ctx.zone.key == "UTC":
        moments = moments.view(TIMESTAMP)
    else:
        # a time that clocks skip stays empty; below it gets an error
        shown = Shown.of(series(moments), ctx.zone.key)
        rows, later = shown.rows, shown.later
        moments = shown.first.to_arrow().cast(TIMESTAMP)
    left = column.left(good)
    if left is not None:
        moments = _other_times(column, left, moments)
    if left is not None or moments.null_count > len(column) - int(good.sum()):
        left = moments.is_null().to_numpy(zero_copy_only=False) & column.full

    others: dict[str, int] = {}  # texts that the clock shows twice

    def parse(text: str) -> Any:
        moment = kind.slow(text, ctx.zone)
        if scalars.has_no_zone(text):
            ctx.naive_times = True
            if second := kind.slow(text, ctx.zone, fold=1) - moment:
                others[text] = second // timedelta(microseconds=1)
        return moment

    done = _finish(column, {"": moments}, parse, left, cut=ctx.cut)
    if others:
        which = pc.index_in(column.text, pa.array(list(others)))
        more = np.flatnonzero(which.is_valid())
        rows = np.append(rows, more)
        later = np.append(later, np.array(list(others.values()))[which.drop_null()])
        rows, later = rows[order := np.argsort(rows)], later[order]
    return attrs.evolve(done, twice=(rows, later) if len(rows) else None)


def _other_times(column: Column, left: Any, moments: Array) -> Array:
    """Fill in times in seconds since 1970 and those with an offset from UTC."""
    texts = column.pick(np.flatnonzero(left))
    width = texts.spans.length
    seconds, whole = digits.whole(texts.spans)
    found = arrow(seconds * 1_000_000, whole & (width < 12), TIMESTAMP)
    if (width > 19).any():
        zoned = pc.if_else(pa.array(width > 19), texts.text, pa.scalar(None, STRING))
        read = series(zoned).str.to_datetime("%Y-%m-%dT%H:%M:%S%z", strict=False, time_unit="us")
        found = pc.coalesce(found, read.dt.convert_time_zone("UTC").to_arrow().cast(TIMESTAMP))
    return pc.replace_with_mask(moments, pa.array(left), found)


def _allocations(kind: Kind, column: Column, ctx: Context) -> Converted:
    """Convert amounts to whole numbers; a dump has few distinct texts, so each is read once."""
    encoded = column.text.dictionary_encode()
    read = resource_maps(kind, Column(encoded.dictionary), cut=ctx.cut)
    return Converted(
        {"": read.values[""].take(encoded.indices)},
        read.words.take(encoded.indices) if read.words is not None else None,
        read.errors.take(encoded.indices) if read.errors is not None else None,
        distinct=(read.values[""], encoded.indices),
    )


def resource_maps(kind: Kind, column: Column, *, cut: bool = False) -> Converted:
    """Convert lists of resources (``cpu=4,mem=8G``) to maps."""
    maps_type = kind.types[""]
    found = kind.fast(spans(column.text), maps_type)
    # None: some text is not a list of entries; find out which, one by one
    maps, good = found or (pa.nulls(len(column), maps_type), np.zeros(len(column), bool))
    number = int if pa.types.is_integer(maps_type.item_type) else float

    def one(text: str) -> list[tuple[str, float | int | None]]:
        return [(key, None if value is None else number(value)) for key, value in kind.slow(text)]

    return _finish(column, {"": maps}, one, column.full & ~good, cut=cut)


_METHODS: Final[dict[str, Callable[[Kind, Column, Context], Converted]]] = {
    "text": _text,
    "time": _time,
    "tres": _allocations,
    "usage": lambda kind, column, ctx: resource_maps(kind, column, cut=ctx.cut),
}
"""The functions for columns of these kinds; ``_values`` converts all others."""


def _read_one(
    text: str, parse: Callable[[str], Any], nothing: tuple[None, ...], *, cut: bool
) -> tuple[tuple[Any, ...], str | None, str | None]:
    """Read a text by a function of ``scalars``: its values, or a word to keep, or the error."""
    if text in NOTHING:
        return nothing, None, None
    try:
        value = parse(text)
    except (ValueError, OverflowError) as problem:
        return (nothing, text, None) if cut and text[-1:] == "+" else (nothing, None, str(problem))
    values = value if isinstance(value, tuple) else (value,)
    is_word = any(isinstance(part, Word) for part in values)
    return (nothing, text, None) if is_word else (values, None, None)


def _finish(
    column: Column, fast: dict[str, Array], parse: Callable[[str], Any], left: Any, *, cut: bool
) -> Converted:
    """Read each distinct text that the fast reader left.

    parse: returns a value for one column, or a tuple if ``fast`` has several.
    left: a mask of the texts to read, None if there are none.
    """
    if left is None or not left.any():
        return Converted(fast)
    texts = column.text if left.all() else column.pick(np.flatnonzero(left)).text
    encoded = texts.dictionary_encode()
    nothing = (None,) * len(fast)
    read = [_read_one(text, parse, nothing, cut=cut) for text in encoded.dictionary.to_pylist()]
    values, words, errors = zip(*read, strict=True)

    def filled(base: Array, found: Sequence[Any]) -> Array:
        return _filled(base, left, pa.array(found, base.type), encoded.indices)

    columns = zip(fast.items(), zip(*values, strict=True), strict=True)
    empty = pa.nulls(len(left), STRING)
    return Converted(
        {name: filled(base, found) for (name, base), found in columns},
        filled(empty, words) if any(words) else None,
        filled(empty, errors) if any(errors) else None,
    )


def _filled(base: Array, left: Any, found: Array, index: Array) -> Array:
    if len(index) == len(base):
        return found.take(index)
    todo = pa.array(left)
    if not pa.types.is_nested(base.type):
        return pc.replace_with_mask(base, todo, found.take(index))
    places = pc.cast(pc.add(index, len(base)), pa.int64())
    own = pa.array(range(len(base)), pa.int64())
    both = pa.chunked_array([base, found])
    return both.take(pc.replace_with_mask(own, todo, places)).combine_chunks()
