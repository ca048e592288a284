"""Whole columns of sacct's text as typed columns, as ``kinds`` says for each kind of field.

A fast reader takes all bytes together and reads the spellings of nearly all of a dump; the
functions of ``scalars`` read the few distinct texts that it leaves empty, and they alone decide
what is an error.
"""

from __future__ import annotations

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
from .kinds import KINDS, STRING, TIMESTAMP, Kind
from .scalars import NOTHING, Word

Array: TypeAlias = Any  # pyarrow ships no type information


@attrs.define
class Context:
    """What conversion depends on besides the text.

    zone: zone of times without one.
    cut: values may be cut to the width of their column, which a final ``+`` shows.
    cluster: name of the cluster of rows that carry none.
    naive_times: set when a time without zone was met.
    elapsed_from_times: set when End minus Start was taken for want of Elapsed and Suspended.
    cpus_from_request: set when CPUs asked for were taken for want of those allocated.
    undecided: how many times may be of either occurrence of an hour that the clock shows twice.
    contradictions: rows in which two fields say different things, by their names: how many, and
        what the first says.
    """

    zone: ZoneInfo
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

    values: by suffix of the record's column (mostly only the empty suffix).
    words: text that is neither a value nor a mistake, to be kept in ``extra``; or None.
    errors: why a text cannot be read, empty elsewhere; or None where all can.
    twice: of times that the clock shows twice, their rows, and by how many microseconds the second
        occurrence of each is later; or None.
    distinct: of a column with few distinct texts, the value of each, and which one each row has.
    """

    values: dict[str, Array]
    words: Array | None = None
    errors: Array | None = None
    twice: tuple[Any, Any] | None = None
    distinct: tuple[Array, Array] | None = None


def convert(kind: str, column: Column, ctx: Context) -> Converted:
    """A column of text, of one of the kinds that ``fields`` names, as typed columns."""
    return _METHODS.get(kind, _values)(KINDS[kind], column, ctx)


def _text(kind: Kind, column: Column, ctx: Context) -> Converted:
    """The texts themselves, shared, with empty ones as nulls."""
    text = column.text
    if text.offset:
        return Converted({"": pc.if_else(pc.not_equal(text, ""), text, pa.scalar(None, STRING))})
    bits = np.packbits(column.full, bitorder="little")
    buffers = [pa.py_buffer(bits), *text.buffers()[1:]]
    return Converted({"": pa.Array.from_buffers(STRING, len(text), buffers)})


def _values(kind: Kind, column: Column, ctx: Context) -> Converted:
    """Numbers or words, each text by itself."""
    if kind.fast is None:  # few distinct texts
        empty = {name: pa.nulls(len(column), type_) for name, type_ in kind.types.items()}
        return _finish(column, empty, kind.slow, column.full, cut=ctx.cut)
    *found, good = kind.fast(column.spans)
    pairs = zip(kind.types.items(), found, strict=True)
    fast = {name: arrow(values, good, type_) for (name, type_), values in pairs}
    return _finish(column, fast, kind.slow, column.left(good), cut=ctx.cut)


def _time(kind: Kind, column: Column, ctx: Context) -> Converted:
    """Moments; those without a zone are of the context's."""
    micros, good = kind.fast(column.spans)
    ctx.naive_times |= bool(good.any())
    moments = arrow(micros, good, pa.timestamp("us"))
    rows = later = np.zeros(0, np.int64)
    if ctx.zone.key == "UTC":
        moments = moments.view(TIMESTAMP)
    else:
        # a time that clocks skip stays empty and gets its reason below
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
    """Fill in what is epoch seconds or has an offset from UTC."""
    texts = Column(column.some(np.flatnonzero(left)))
    width = texts.spans.length
    seconds, whole = digits.whole(texts.spans)
    found = arrow(seconds * 1_000_000, whole & (width < 12), TIMESTAMP)
    if (width > 19).any():
        zoned = pc.if_else(pa.array(width > 19), texts.text, pa.scalar(None, STRING))
        read = series(zoned).str.to_datetime("%Y-%m-%dT%H:%M:%S%z", strict=False, time_unit="us")
        found = pc.coalesce(found, read.dt.convert_time_zone("UTC").to_arrow().cast(TIMESTAMP))
    return pc.replace_with_mask(moments, pa.array(left), found)


def _allocations(kind: Kind, column: Column, ctx: Context) -> Converted:
    """Amounts as whole numbers; a dump has few distinct texts, each is read once."""
    encoded = column.text.dictionary_encode()
    read = resource_maps(kind, Column(encoded.dictionary), cut=ctx.cut)
    return Converted(
        {"": read.values[""].take(encoded.indices)},
        read.words.take(encoded.indices) if read.words is not None else None,
        read.errors.take(encoded.indices) if read.errors is not None else None,
        distinct=(read.values[""], encoded.indices),
    )


def _usages(kind: Kind, column: Column, ctx: Context) -> Converted:
    return resource_maps(kind, column, cut=ctx.cut)


def resource_maps(kind: Kind, column: Column, *, cut: bool = False) -> Converted:
    """Lists of resources (``cpu=4,mem=8G``) as maps."""
    maps_type = kind.types[""]
    integers = pa.types.is_integer(maps_type.item_type)
    found = kind.fast(spans(column.text), integers=integers)
    if found is None:  # some text is not a list of entries: find out which, one by one
        maps, good = pa.nulls(len(column), maps_type), np.zeros(len(column), bool)
    else:
        good = found.listed.copy()
        if not found.fine.all():
            rows = np.repeat(np.arange(len(good)), np.diff(found.offsets))
            good[rows[~found.fine]] = False
        maps = pa.MapArray.from_arrays(
            pa.array(found.offsets, mask=np.append(~found.listed, False)),
            found.keys,
            arrow(found.amounts, found.fine, maps_type.item_type),
        )

    def one(text: str) -> list[tuple[str, float | int | None]]:
        return [
            (key, value if value is None else int(value) if integers else float(value))
            for key, value in kind.slow(text)
        ]

    return _finish(column, {"": maps}, one, column.full & ~good, cut=cut)


_METHODS: Final[dict[str, Callable[[Kind, Column, Context], Converted]]] = {
    "text": _text,
    "time": _time,
    "tres": _allocations,
    "usage": _usages,
}
"""How columns of these kinds are read; all others by ``_values``."""


def _read_one(
    text: str, parse: Callable[[str], Any], nothing: tuple[None, ...], *, cut: bool
) -> tuple[tuple[Any, ...], str | None, str | None]:
    """The values of a text by a function of ``scalars``; a word that is kept; why it is wrong."""
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
    texts = column.text if left.all() else column.some(np.flatnonzero(left))
    encoded = texts.dictionary_encode()
    nothing = (None,) * len(fast)
    distinct = encoded.dictionary.to_pylist()
    read = [_read_one(text, parse, nothing, cut=cut) for text in distinct]
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
    """The column ``base`` with the values ``found`` at ``index`` in the rows that are left."""
    if len(index) == len(base):
        return found.take(index)
    todo = pa.array(left)
    if not pa.types.is_nested(base.type):
        return pc.replace_with_mask(base, todo, found.take(index))
    places = pc.cast(pc.add(index, len(base)), pa.int64())
    own = pa.array(range(len(base)), pa.int64())
    both = pa.chunked_array([base, found])
    return both.take(pc.replace_with_mask(own, todo, places)).combine_chunks()
