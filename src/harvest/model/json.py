"""Rows as JSON text, and back, column by column.

The text of a row is what :func:`harvest.model.describe.json_schema` describes: an object with a
member for every column, null for null; times in ISO 8601 with microseconds and ``Z``; bytes in
base64; NaN and the infinities as the words "NaN", "Infinity" and "-Infinity", for JSON has no such
numbers; a map as an object.  What is written so reads back as it was, with these limits: keys
that occur twice in one map leave the last, and a time within a map must lie in the years 1 to 9999.
"""

from __future__ import annotations

import base64
import json
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import reduce
from typing import Any

import orjson
import polars as pl
import pyarrow as pa
from polars import selectors

from .frames import (
    arrow_type_of,
    frame_of,
    polars_schema,
    polars_type,
    seconds,
    without_maps,
)
from .record import RecordType

__all__ = [
    "decode",
    "encode",
    "encode_frame",
    "encode_lines",
    "lines_of",
]

TIME_FORMAT = "%Y-%m-%dT%H:%M:%S%.6fZ"


def encode(record_type: RecordType, table: pa.Table, *, omit: Collection[str] = ()) -> pl.Series:
    """The JSON text of each row of a table of the record type's schema.

    omit: columns to leave out.
    """
    text = object_text(record_type, omit=omit)
    return frame_of(record_type, table).select(text.alias("json")).to_series()


def encode_lines(record_type: RecordType, table: pa.Table) -> memoryview:
    """JSON Lines of a table of the record type's schema, ready to be written."""
    line = object_text(record_type) + pl.lit("\n")
    return lines_of(frame_of(record_type, table).select(line.alias("json")).to_series())


def encode_frame(frame: pl.DataFrame) -> pl.Series:
    """The JSON text of each row of any frame; columns are encoded as those of records are.

    Dates become ISO 8601, durations seconds, categories their text.  A list of structs of ``key``
    and ``value`` is taken for the map that it stands for.
    """
    plain = frame.with_columns(
        selectors.date().dt.to_string("%Y-%m-%d"),
        selectors.time().dt.to_string("%H:%M:%S%.6f"),
        seconds(selectors.duration().dt.total_microseconds()),
        selectors.categorical().cast(pl.String),
    )
    kinds = {name: arrow_type_of(plain.schema[name]) for name in plain.columns}
    return plain.select(_members_text(kinds).alias("json")).to_series()


def plain_text(kind: pa.DataType, column: pa.ChunkedArray) -> pa.Array:
    """The text of each value of a column of that type, null for null.

    It is the value's JSON text; where that is a string (of text, times, bytes, NaN), what it says.
    """
    plain = without_maps(column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column)
    frame: pl.DataFrame = pl.from_arrow(pa.table([plain], names=["v"]))  # type: ignore[assignment]
    value = pl.col("v")
    if _is_text(kind):
        text = value
    elif pa.types.is_timestamp(kind) or pa.types.is_binary(kind):
        text = _as_encodable(kind, value)  # type: ignore[assignment]
    else:
        text = _text(kind, value)
        if pa.types.is_floating(kind):
            text = text.str.strip_chars('"')
    found = frame.select(pl.when(value.is_not_null()).then(text).alias("text")).to_series()
    return found.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.string())


def lines_of(texts: pl.Series) -> memoryview:
    """The bytes of a column of texts, one after the other."""
    if not len(texts):
        return memoryview(b"")
    array = texts.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    offsets = memoryview(array.buffers()[1]).cast("q")
    first, last = offsets[array.offset], offsets[array.offset + len(array)]
    return memoryview(array.buffers()[2])[first:last]


def object_text(
    record_type: RecordType, *, omit: Collection[str] = (), sparse: str | None = None
) -> pl.Expr:
    """An expression for the JSON text of each row of a frame of plain columns.

    omit: columns to leave out; sparse: a column that comes last and is left out where null.
    """
    return _members_text(
        {field.name: field.type for field in record_type.arrow_schema}, omit=omit, sparse=sparse
    )


def _members_text(
    kinds: Mapping[str, pa.DataType], *, omit: Collection[str] = (), sparse: str | None = None
) -> pl.Expr:
    """An expression for the JSON text of each row, from columns of these types."""
    members: list[pl.Expr] = []
    together: list[pl.Expr] = []  # columns that polars' own encoder can write in one go

    def close() -> None:
        if together:
            text = pl.struct(*together).struct.json_encode()
            members.append(text.str.strip_prefix("{").str.strip_suffix("}"))
            together.clear()

    for name, kind in kinds.items():
        if name in omit or name == sparse:
            continue
        value = _as_encodable(kind, pl.col(name))
        if value is not None:
            together.append(value.alias(name))
        else:
            close()
            members.append(_member(name) + _text(kind, pl.col(name)))
    close()
    pieces = _join_by_comma(members)
    if sparse is not None:
        lead = "," if members else ""
        member = pl.lit(lead) + _member(sparse) + _text(kinds[sparse], pl.col(sparse))
        pieces.append(pl.when(pl.col(sparse).is_null()).then(pl.lit("")).otherwise(member))
    return pl.concat_str(pl.lit("{"), *pieces, pl.lit("}"))


def _member(name: str) -> pl.Expr:
    return pl.lit(json.dumps(name, ensure_ascii=False) + ":")


def _join_by_comma(pieces: Sequence[pl.Expr]) -> list[pl.Expr]:
    return [part for piece in pieces for part in (pl.lit(","), piece)][1:]


def _is_plain(kind: pa.DataType) -> bool:
    """Whether polars' own encoder writes values of this type as they are wanted here."""
    if pa.types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    if pa.types.is_map(kind):
        return False
    if pa.types.is_list(kind):
        return _is_plain(kind.value_type)
    if pa.types.is_struct(kind):
        return all(_is_plain(field.type) for field in kind)
    return pa.types.is_integer(kind) or pa.types.is_boolean(kind) or _is_text(kind)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _as_encodable(kind: pa.DataType, value: pl.Expr) -> pl.Expr | None:
    """``value`` as something that polars' encoder writes as wanted, or None where it cannot."""
    if _is_plain(kind):
        return value
    if pa.types.is_timestamp(kind):
        return value.dt.strftime(TIME_FORMAT)
    if pa.types.is_binary(kind):
        return value.bin.encode("base64")
    return None


def _text(kind: pa.DataType, value: pl.Expr) -> pl.Expr:
    """The JSON text of each value; ``null`` for null, so never null itself."""
    encodable = _as_encodable(kind, value)
    if encodable is not None:
        text = pl.struct(encodable.alias("")).struct.json_encode()
        return text.str.strip_prefix('{"":').str.strip_suffix("}")
    if pa.types.is_floating(kind):
        text = (
            pl.when(value.is_finite())
            .then(value.cast(pl.String))
            .when(value.is_nan())
            .then(pl.lit('"NaN"'))
            .when(value > 0)
            .then(pl.lit('"Infinity"'))
            .when(value < 0)
            .then(pl.lit('"-Infinity"'))
        )
    elif pa.types.is_map(kind):
        entry = pl.element().struct
        pair = _key_text(kind.key_type, entry.field("key")) + pl.lit(":")
        pair = pair + _text(kind.item_type, entry.field("value"))
        text = pl.lit("{") + value.list.eval(pair).list.join(",") + pl.lit("}")
    elif pa.types.is_list(kind):
        items = value.list.eval(_text(kind.value_type, pl.element()))
        text = pl.lit("[") + items.list.join(",") + pl.lit("]")
    else:
        pieces = _join_by_comma(
            [_member(f.name) + _text(f.type, value.struct.field(f.name)) for f in kind]
        )
        whole = pl.concat_str(pl.lit("{"), *pieces, pl.lit("}"))
        text = pl.when(value.is_not_null()).then(whole)
    return text.fill_null(pl.lit("null"))


def _key_text(kind: pa.DataType, value: pl.Expr) -> pl.Expr:
    """A map's key as JSON text, which must be a string."""
    if pa.types.is_timestamp(kind) or pa.types.is_binary(kind):
        value = _as_encodable(kind, value)  # type: ignore[assignment]
    elif not _is_text(kind):
        value = value.cast(pl.String)
    return _text(pa.string(), value)


def decode(
    record_type: RecordType,
    text: bytes,
    *,
    columns: Sequence[str] | None = None,
    inside: str | None = None,
) -> pl.DataFrame:
    """The rows of JSON Lines as a frame of plain columns; the inverse of ``encode_lines``.

    text: whole lines, each one row; members that the record type does not have are passed over,
        those that a line lacks are null.
    columns: those wanted, at least one; by default all.
    inside: member of each line that holds all columns but origin and position, if not the line.

    Raises polars.exceptions.PolarsError when a line is not JSON or a value not of its type.
    """
    kinds = {field.name: field.type for field in record_type.arrow_schema}
    wanted = list(kinds) if columns is None else list(columns)
    types = polars_schema(record_type)
    if not text.strip():
        return pl.DataFrame(schema={name: types[name] for name in wanted})
    within = [n for n in wanted if inside is not None and n not in ("origin", "position")]
    schema = {name: _read_type(kinds[name]) for name in wanted if name not in within}
    if within:
        schema[str(inside)] = pl.Struct({name: _read_type(kinds[name]) for name in within})
    frame = pl.read_ndjson(text, schema=schema)
    if within:
        frame = frame.unnest(str(inside))
    mapped = [name for name in wanted if _holds_map(kinds[name])]
    if mapped:
        frame = _read_maps(frame, text, {name: kinds[name] for name in mapped}, set(within), inside)
    return frame.select(
        pl.col(name) if name in mapped else _value(kinds[name], pl.col(name)).alias(name)
        for name in wanted
    )


def _holds_map(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind):
        return True
    if pa.types.is_list(kind):
        return _holds_map(kind.value_type)
    return pa.types.is_struct(kind) and any(_holds_map(field.type) for field in kind)


def _read_type(kind: pa.DataType) -> pl.DataType:
    """The polars type to read JSON values of a type with, before ``_value`` makes them whole."""
    if pa.types.is_boolean(kind) or (pa.types.is_integer(kind) and not pa.types.is_uint64(kind)):
        return polars_type(kind)
    if pa.types.is_map(kind):
        return pl.Struct({"": pl.String()})  # shows only which are null; see _read_maps
    if _holds_map(kind):
        return pl.String()
    if pa.types.is_list(kind):
        return pl.List(_read_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pl.Struct({field.name: _read_type(field.type) for field in kind})
    # polars takes numbers into text as they are; as uint64 in a struct it cannot read all of them
    return pl.String()


def _value(kind: pa.DataType, value: pl.Expr) -> pl.Expr:
    """Values as read with ``_read_type``, made those of the type."""
    if _read_type(kind) == polars_type(kind):
        return value
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return value.cast(polars_type(kind))
    if pa.types.is_timestamp(kind):
        return value.str.to_datetime(TIME_FORMAT, time_unit="us", time_zone="UTC")
    if pa.types.is_binary(kind):
        return value.str.decode("base64")
    if pa.types.is_list(kind):
        return value.list.eval(_value(kind.value_type, pl.element()))
    fields = [_value(f.type, value.struct.field(f.name)).alias(f.name) for f in kind]
    return pl.when(value.is_not_null()).then(pl.struct(*fields))


def _read_maps(
    frame: pl.DataFrame,
    text: bytes,
    kinds: dict[str, pa.DataType],
    within: set[str],
    inside: str | None,
) -> pl.DataFrame:
    """Fill the columns that hold maps; polars cannot read objects with keys of their own.

    Only lines where such a column is not null are read, by orjson.
    """
    present = reduce(operator.or_, (pl.col(name).is_not_null() for name in kinds))
    rows = frame.select(present).to_series().arg_true()
    found: dict[str, list[Any]] = {name: [] for name in kinds}
    takers = [(found[name].append, name, name in within, _converter(kinds[name])) for name in kinds]
    lines = text.split(b"\n") if len(rows) else []
    for row in rows:
        line = orjson.loads(lines[row])
        inner = line[inside] if within else line
        for take, name, is_inner, convert in takers:
            take(convert((inner if is_inner else line).get(name)))
    columns = []
    for name, kind in kinds.items():
        values = _scatter(without_maps(pa.array(found[name], kind)), rows, frame.height)
        column: pl.Series = pl.from_arrow(values)  # type: ignore[assignment]
        columns.append(column.cast(polars_type(kind)).alias(name))
    return frame.with_columns(columns)


def _scatter(values: pa.Array, rows: pl.Series, height: int) -> pa.Array:
    """``values`` at the given rows of a column of ``height`` rows, nulls elsewhere."""
    if len(values) == height:
        return values
    if not len(values):
        return pa.nulls(height, values.type)
    index = pl.repeat(None, height, dtype=pl.Int64, eager=True)
    index = index.scatter(rows, pl.int_range(len(values), eager=True))
    return values.take(index.to_arrow())


def _converter(kind: pa.DataType) -> Callable[[Any], Any]:
    """A function from a JSON value, as orjson gives it, to one that Arrow takes for the type."""
    make = _maker(kind)
    return lambda value: None if value is None else make(value)


def _maker(kind: pa.DataType) -> Callable[[Any], Any]:
    if pa.types.is_map(kind):
        key, item = _key_maker(kind.key_type), _converter(kind.item_type)
        if _is_text(kind.key_type) and _is_plain(kind.item_type):
            return lambda value: list(value.items())
        return lambda value: [(key(k), item(v)) for k, v in value.items()]
    if pa.types.is_list(kind):
        each = _converter(kind.value_type)
        return lambda value: [each(v) for v in value]
    if pa.types.is_struct(kind):
        fields = {field.name: _converter(field.type) for field in kind}
        return lambda value: {name: make(value.get(name)) for name, make in fields.items()}
    if pa.types.is_floating(kind):
        return float
    if pa.types.is_timestamp(kind):
        return datetime.fromisoformat
    if pa.types.is_binary(kind):
        return base64.b64decode
    return lambda value: value


def _key_maker(kind: pa.DataType) -> Callable[[str], Any]:
    if pa.types.is_integer(kind):
        return int
    if pa.types.is_boolean(kind):
        return lambda key: key == "true"
    return _maker(kind)
