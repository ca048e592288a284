"""Decode JSON Lines into columns: the inverse of ``harvest.model.json.encode_lines``.

All values are restored, with two limits: if a key occurs twice in one map, only the last is kept,
and a time within a map must be in the years 1 to 9999.
"""

import base64
import operator
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import reduce
from typing import Any

import orjson
import polars as pl
import pyarrow as pa

from harvest import RecordType
from harvest.model.frames import polars_schema, polars_type, without_maps
from harvest.model.json import TIME_FORMAT

__all__ = ["decode"]


def decode(
    record_type: RecordType,
    text: bytes,
    *,
    columns: Sequence[str] | None = None,
    inside: str | None = None,
) -> pl.DataFrame:
    """Decode JSON Lines into a frame of plain columns.

    text: complete lines, one per row. Members that the record type does not have are ignored;
        members that a line lacks are null.
    columns: names of the columns to return, at least one; None for all.
    inside: member of each line that holds all columns except origin and position; None if the
        line itself holds them.
    Raises polars.exceptions.PolarsError if a line is not JSON or a value does not fit its type.
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
    """Return the polars type with which JSON values are read, before ``_value`` converts them."""
    if pa.types.is_boolean(kind) or (pa.types.is_integer(kind) and not pa.types.is_uint64(kind)):
        return polars_type(kind)
    if pa.types.is_map(kind):
        return pl.Struct({"": pl.String()})  # only shows which values are null; see _read_maps
    if _holds_map(kind):
        return pl.String()
    if pa.types.is_list(kind):
        return pl.List(_read_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pl.Struct({field.name: _read_type(field.type) for field in kind})
    # polars reads numbers as text unchanged; as uint64 in a struct it cannot read all values
    return pl.String()


def _value(kind: pa.DataType, value: pl.Expr) -> pl.Expr:
    """Convert values that were read with ``_read_type`` to their final type."""
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
    """Fill the columns that hold maps, since polars cannot read objects with arbitrary keys.

    Parses with orjson only the lines in which at least one of these columns is not null.
    """
    present = reduce(operator.or_, (pl.col(name).is_not_null() for name in kinds))
    rows = frame.select(present).to_series().arg_true()
    found: dict[str, list[Any]] = {name: [None] * frame.height for name in kinds}
    takers = [(found[name], name, name in within, _converter(kinds[name])) for name in kinds]
    lines = text.split(b"\n") if len(rows) else []
    for row in rows:
        line = orjson.loads(lines[row])
        inner = line[inside] if within else line
        for values, name, is_inner, convert in takers:
            values[row] = convert((inner if is_inner else line).get(name))
    columns = []
    for name, kind in kinds.items():
        values = without_maps(pa.array(found[name], kind))
        column: pl.Series = pl.from_arrow(values)  # type: ignore[assignment]
        columns.append(column.cast(polars_type(kind)).alias(name))
    return frame.with_columns(columns)


def _converter(kind: pa.DataType) -> Callable[[Any], Any]:
    """Return a function that converts a value of orjson to one that Arrow accepts for the type."""
    make = _maker(kind)
    return make if make is _as_it_is else lambda value: None if value is None else make(value)


def _as_it_is(value: Any) -> Any:
    return value


def _maker(kind: pa.DataType) -> Callable[[Any], Any]:
    if pa.types.is_map(kind):
        key, item = _key_maker(kind.key_type), _converter(kind.item_type)
        if key is _as_it_is and item is _as_it_is:
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
    return _as_it_is


def _key_maker(kind: pa.DataType) -> Callable[[str], Any]:
    if pa.types.is_integer(kind):
        return int
    if pa.types.is_boolean(kind):
        return lambda key: key == "true"
    return _maker(kind)
