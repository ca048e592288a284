"""Rows as JSON text, column by column.

The text of a row follows :func:`harvest.model.describe.json_schema`: an object with a member for
every column. Null is null; times are ISO 8601 with microseconds and ``Z``; bytes are base64; a map
is an object. NaN and the infinities are the words "NaN", "Infinity" and "-Infinity", since JSON has
no such numbers.
"""

import json
from collections.abc import Mapping, Sequence

import polars as pl
import pyarrow as pa
from polars import selectors

from .frames import arrow_type_of, frame_of, polars_type, seconds, without_maps
from .record import RecordType

__all__ = ["TIME_FORMAT", "encode_frame", "encode_lines", "lines_of"]

TIME_FORMAT = "%Y-%m-%dT%H:%M:%S%.6fZ"


def encode_lines(record_type: RecordType, table: pa.Table) -> memoryview:
    """Return a table with the record type's schema as JSON Lines, ready to be written."""
    line = object_text(types_in(record_type)) + pl.lit("\n")
    return lines_of(frame_of(record_type, table).select(line.alias("json")).to_series())


def encode_frame(frame: pl.DataFrame) -> pl.Series:
    """Return the JSON text of each row of any frame, encoded in the same way as records.

    Dates become ISO 8601, durations seconds, categories their text. A list of structs of ``key``
    and ``value`` is encoded as a map.
    """
    plain = frame.with_columns(
        seconds(selectors.duration().dt.total_microseconds()),
        selectors.categorical().cast(pl.String),
    )
    # list functions of polars take neither its maps (from DuckDB's histogram) nor its arrays
    nested = {name: kind for name, kind in plain.schema.items() if kind.is_nested()}
    plain = plain.cast({name: polars_type(arrow_type_of(kind)) for name, kind in nested.items()})
    kinds = {name: arrow_type_of(plain.schema[name]) for name in plain.columns}
    return plain.select(object_text(kinds).alias("json")).to_series()


def plain_text(kind: pa.DataType, column: pa.ChunkedArray) -> pa.Array:
    """Return the text of each value of a column, null for null.

    This is the JSON text, or the content of the JSON string for text, times, bytes and NaN.
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
    """Return the bytes of all texts of a column, concatenated."""
    if not len(texts):
        return memoryview(b"")
    array = texts.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    offsets = memoryview(array.buffers()[1]).cast("q")
    first, last = offsets[array.offset], offsets[array.offset + len(array)]
    return memoryview(array.buffers()[2])[first:last]


def types_in(record_type: RecordType) -> dict[str, pa.DataType]:
    """Return the Arrow types of all columns of a record type, by name."""
    return {field.name: field.type for field in record_type.arrow_schema}


def object_text(kinds: Mapping[str, pa.DataType], *, sparse: str | None = None) -> pl.Expr:
    """Return an expression for the JSON text of each row, from plain columns of these types.

    sparse: name of a column that is left out of rows in which it is null.
    """
    members: list[pl.Expr] = []
    together: list[pl.Expr] = []  # columns that polars' encoder can write together

    def close() -> None:
        if together:
            text = pl.struct(*together).struct.json_encode()
            members.append(text.str.strip_prefix("{").str.strip_suffix("}"))
            together.clear()

    for name, kind in kinds.items():
        if name == sparse:
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
    """Return whether polars' own encoder writes this type in the required form."""
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
    """Convert ``value`` to a type that polars' encoder writes as required; None if impossible."""
    if _is_plain(kind):
        return value
    if pa.types.is_timestamp(kind):
        return value.dt.strftime(TIME_FORMAT)
    if pa.types.is_date(kind):
        return value.dt.strftime("%Y-%m-%d")
    if pa.types.is_time(kind):
        return value.dt.strftime("%H:%M:%S%.6f")
    if pa.types.is_binary(kind):
        return value.bin.encode("base64")
    return None


def _text(kind: pa.DataType, value: pl.Expr) -> pl.Expr:
    """Return the JSON text of each value; ``null`` for null, so the text is never null."""
    encodable = _as_encodable(kind, value)
    if encodable is not None:
        text = pl.struct(encodable.alias("")).struct.json_encode()
        return text.str.strip_prefix('{"":').str.strip_suffix("}")
    if pa.types.is_decimal(kind):
        text = value.cast(pl.String)
    elif pa.types.is_floating(kind):
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
    """Return a map's key as JSON text; it must be a string."""
    if pa.types.is_timestamp(kind) or pa.types.is_binary(kind):
        value = _as_encodable(kind, value)  # type: ignore[assignment]
    elif not _is_text(kind):
        value = value.cast(pl.String)
    return _text(pa.string(), value)
