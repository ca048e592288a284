"""Columns of a Delta table: which of its types keeps every value of a column, and the values so.

Delta has no unsigned integers, no durations, no times of day and no nanoseconds: they become
decimals or larger integers, and the column's comment says in which unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import polars as pl
import pyarrow as pa

from harvest import RecordType, UsageError

__all__ = ["PERIODS", "PIECE", "arranged", "kinds_of", "table_schema"]

PIECE: Final = "harvest_piece"
PERIODS: Final = {"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}
"""Columns that are made of a record type's time, for partitions."""

_WIDER: Final[Mapping[pa.DataType, pa.DataType]] = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.null(): pa.string(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}
_UNITS: Final = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


def kinds_of(rows: RecordType | pl.LazyFrame) -> pa.Schema:
    """The Arrow types of the columns of a record type, or of a view's rows."""
    if isinstance(rows, RecordType):
        return rows.arrow_schema
    return rows.collect_schema().to_frame().to_arrow(compat_level=pl.CompatLevel.oldest()).schema


def table_schema(
    kinds: pa.Schema, comments: Mapping[str, str], more: Mapping[str, str]
) -> pa.Schema:
    """The columns of a table, each with what it means; ``more`` are texts that follow them."""
    fields = []
    for field in kinds:
        kind, unit = _kind(field.type, field.name)
        said = " ".join(filter(None, [comments.get(field.name), unit]))
        fields.append(pa.field(field.name, kind, metadata={"comment": said} if said else None))
    fields += [pa.field(n, pa.string(), metadata={"comment": said}) for n, said in more.items()]
    return pa.schema(fields)


def _kind(kind: pa.DataType, name: str) -> tuple[pa.DataType, str]:
    """The type of Delta that keeps every value, and words on its unit where it is a number now."""
    types = pa.types
    if types.is_dictionary(kind):
        return _kind(kind.value_type, name)
    if types.is_map(kind):
        return pa.map_(_kind(kind.key_type, name)[0], _kind(kind.item_type, name)[0]), ""
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(_kind(kind.value_type, name)[0]), ""
    if types.is_struct(kind):
        return pa.struct([pa.field(f.name, _kind(f.type, name)[0]) for f in kind]), ""
    if types.is_duration(kind):
        return pa.int64(), f"(in {_UNITS[kind.unit]})"
    if types.is_time(kind):
        return pa.int64(), f"(in {_UNITS[kind.unit]} since midnight)"
    if types.is_timestamp(kind):
        if kind.unit == "ns":
            return pa.int64(), "(in nanoseconds since 1970-01-01 UTC)"
        return pa.timestamp("us", "UTC" if kind.tz else None), ""
    if types.is_decimal(kind) and kind.precision > 38:
        raise UsageError(
            f"column {name!r} is {kind}, and Delta has 38 digits", remedy="leave this view out"
        )
    return _WIDER.get(kind, kind), ""


def arranged(frame: pl.DataFrame, schema: pa.Schema) -> pa.RecordBatch:
    """Rows as exactly the columns of a table."""
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest()).combine_chunks()
    columns = []
    for field in schema:
        chunked: Any = table.column(field.name)
        whole = chunked.chunk(0) if chunked.num_chunks else pa.array([], chunked.type)
        columns.append(_as(whole, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _as(values: Any, kind: pa.DataType) -> Any:
    """Values as a type of Delta; polars has no maps, but lists of their entries."""
    types = pa.types
    if types.is_map(kind) or (types.is_list(kind) and types.is_nested(kind.value_type)):
        if types.is_null(values.type):
            return pa.nulls(len(values), kind)
        if values.offset:
            values = values.take(pa.array(range(len(values))))
        held = values.cast(pa.list_(values.type.value_type))
        mask = held.is_null() if held.null_count else None
        if types.is_list(kind):
            items = _as(held.values, kind.value_type)
            return pa.ListArray.from_arrays(held.offsets, items, type=kind, mask=mask)
        keys = _as(held.values.field(0), kind.key_type)
        items = _as(held.values.field(1), kind.item_type)
        return pa.MapArray.from_arrays(held.offsets, keys, items, type=kind, mask=mask)
    if types.is_struct(kind):
        parts = [_as(values.field(n), kind.field(n).type) for n in range(kind.num_fields)]
        mask = values.is_null() if values.null_count else None
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask)
    if types.is_integer(kind) and types.is_temporal(values.type):
        whole = pa.int32() if values.type.bit_width == 32 else pa.int64()
        return values.cast(whole).cast(kind)
    return values.cast(kind)
