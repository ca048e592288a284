"""Columns of a Delta table: types that keep every value, and the conversion of values.

Delta has no unsigned integers, no durations, no times of day and no nanoseconds.  They become
decimals or larger integers, and the comment of the column gives the unit.
"""

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
    pa.string(): pa.string_view(),  # as in polars, to avoid a copy
    pa.binary(): pa.binary_view(),
}
_PACKED: Final = ColumnProperties(dictionary_enabled=False, encoding="DELTA_BINARY_PACKED")


def table_schema(kinds: pa.Schema, comments: Mapping[str, str]) -> pa.Schema:
    """Make the schema of a table, with a comment on each column."""
    fields = []
    for field in kinds:
        kind, said = _kind(field.type), comments.get(field.name, "")
        if pa.types.is_temporal(field.type) and not pa.types.is_temporal(kind):
            said = f"{said} (the number of a {field.type})".strip()
        fields.append(pa.field(field.name, kind, metadata={"comment": said} if said else None))
    return pa.schema(fields)


def stored(schema: pa.Schema) -> WriterProperties:
    """Choose encodings: numbers without dictionaries, which take long to build."""
    types, plain = pa.types, ColumnProperties(dictionary_enabled=False)
    real = [f.name for f in schema if types.is_floating(f.type)]
    whole = [f.name for f in schema if types.is_integer(f.type) or types.is_temporal(f.type)]
    ways = {**dict.fromkeys(real, plain), **dict.fromkeys(whole, _PACKED)}
    return WriterProperties(column_properties=ways)


def in_arrow(frame: pl.DataFrame) -> pa.Table:
    """Convert rows to Arrow without a copy; categories become text."""
    categories = pl.selectors.by_dtype(pl.Categorical, pl.Enum)
    return frame.cast({categories: pl.String}).to_arrow(compat_level=pl.CompatLevel.newest())


def arranged(tables: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Convert rows to exactly the columns of a table."""
    kinds = [_kind(kind, maps=False) for kind in schema.types]
    plain = pa.schema(list(zip(schema.names, kinds, strict=True)))
    for table in tables:
        for batch in table.cast(plain).to_batches():
            columns: list[Any] = [
                values if values.type == kind else values.view(kind)
                for values, kind in zip(batch.columns, schema.types, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _kind(kind: pa.DataType, *, maps: bool = True) -> pa.DataType:
    """The Delta type that keeps every value.  maps: False gives lists of entries instead."""
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
