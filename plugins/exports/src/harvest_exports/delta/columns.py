"""Columns of a Delta table: which of its types keeps every value of a column, and the values so.

Delta has no unsigned integers, no durations, no times of day and no nanoseconds: they become
decimals or larger integers, and the column's comment says what it is a number of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import polars as pl
import pyarrow as pa
from deltalake import ColumnProperties, WriterProperties

_KEPT: Final[Mapping[pa.DataType, pa.DataType]] = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.null(): pa.string_view(),
    # as polars has them, so that they are not copied
    pa.string(): pa.string_view(),
    pa.binary(): pa.binary_view(),
}
_REAL: Final = ColumnProperties(dictionary_enabled=False)
_WHOLE: Final = ColumnProperties(dictionary_enabled=False, encoding="DELTA_BINARY_PACKED")
_CHOICES: Final = pl.selectors.by_dtype(pl.Categorical, pl.Enum)


def table_schema(kinds: pa.Schema, comments: Mapping[str, str]) -> pa.Schema:
    """The columns of a table, each with its meaning."""
    fields = []
    for field in kinds:
        kind, said = _kind(field.type), comments.get(field.name, "")
        if pa.types.is_temporal(field.type) and not pa.types.is_temporal(kind):
            said = f"{said} (the number of a {field.type})".strip()
        fields.append(pa.field(field.name, kind, metadata={"comment": said} if said else None))
    return pa.schema(fields)


def stored(schema: pa.Schema) -> WriterProperties:
    """How values are stored: numbers by themselves, as dictionaries of them cost much time."""
    types, ways = pa.types, {}
    for field in schema:
        if types.is_floating(field.type):
            ways[field.name] = _REAL
        elif types.is_integer(field.type) or types.is_temporal(field.type):
            ways[field.name] = _WHOLE
    return WriterProperties(column_properties=ways)


def arranged(
    rows: Iterable[tuple[pl.DataFrame, pl.DataFrame]], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Rows, in two frames next to each other, as exactly the columns of a table."""
    kept = [_kind(kind, maps=False) for kind in schema.types]
    for frame, more in rows:
        frame = frame.cast({_CHOICES: pl.String})
        table = frame.to_arrow(compat_level=pl.CompatLevel.newest())
        for column in more:  # polars would copy all to have them in the same chunks
            table = table.append_column(column.name, column.to_arrow())
        for batch in table.to_batches():
            columns: list[Any] = []
            for name, kind, wanted in zip(schema.names, kept, schema.types, strict=True):
                values: Any = batch.column(name)
                values = values if values.type == kind else values.cast(kind)
                columns.append(values if kind == wanted else values.view(wanted))
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _kind(kind: pa.DataType, *, maps: bool = True) -> pa.DataType:
    """The type of Delta that keeps every value; without maps as lists of what they hold."""
    types = pa.types
    if types.is_dictionary(kind):
        return _kind(kind.value_type, maps=maps)
    if types.is_map(kind):
        key, item = _kind(kind.key_type, maps=maps), _kind(kind.item_type, maps=maps)
        return pa.map_(key, item) if maps else pa.list_(pa.struct({"key": key, "value": item}))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(_kind(kind.value_type, maps=maps))
    if types.is_struct(kind):
        return pa.struct([(field.name, _kind(field.type, maps=maps)) for field in kind])
    if types.is_timestamp(kind) and kind.unit != "ns":
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if types.is_timestamp(kind) or types.is_duration(kind) or types.is_time(kind):
        return pa.int64()
    return _KEPT.get(kind, kind)
