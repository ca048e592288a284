"""Arrow tables of record types: brought to the declared schema, cut, joined and measured.

``conform`` is the gate every batch passes before a sink sees it: whatever a source yields
(pyarrow, polars, anything with ``__arrow_c_stream__``) leaves as a table of exactly the declared
schema, or raises :class:`BatchError` naming the column that does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from .errors import BatchError
from .types import ORIGIN, arrow_type, schema_of

if TYPE_CHECKING:
    from .record import Record, RecordType

__all__ = [
    "BATCH_ROWS",
    "arrow_type",
    "as_maps",
    "batches",
    "concat_tables",
    "conform",
    "schema_of",
    "size_of",
    "table_of",
]

BATCH_ROWS = 65_536
"""Rows of a batch handed to a sink, at most."""

_CHEAP_BYTES = 1 << 20


def conform(record_type: RecordType, data: Any, *, origin: str | None = None) -> pa.Table:
    """A table of exactly ``record_type``'s schema.

    data: a pyarrow table or record batch, or any object with ``__arrow_c_stream__`` or
        ``__arrow_c_array__`` (a polars frame).  Nullable columns may be missing.
    origin: fills the column ``origin`` where the data has none.

    Raises BatchError when a column is unknown, of a type that does not convert without loss, or
    holds nulls although it is declared without None, or times without a zone.
    """
    table = _as_table(data, record_type)
    schema = record_type.arrow_schema
    if table.schema.equals(schema) and not _holes(table):
        return table.replace_schema_metadata(schema.metadata)
    declared = frozenset(schema.names)
    unknown = [name for name in table.column_names if name not in declared]
    if unknown:
        raise BatchError(
            f"{record_type.name}: column {unknown[0]!r} is not declared by "
            f"{record_type.cls.__qualname__}; declare it or put its text into 'extra'"
        )
    arrays = []
    for field in schema:
        index = table.schema.get_field_index(field.name)
        if index >= 0:
            array = _cast(table.column(index), field, record_type)
        elif field.name == "origin" and origin is not None:
            array = _constant(origin, table.num_rows)
        else:
            array = pa.chunked_array([pa.nulls(table.num_rows, field.type)], type=field.type)
        if field.name == "origin" and origin is not None and array.null_count:
            filled = pc.fill_null(array.cast(pa.string()), origin)
            array = filled.dictionary_encode().cast(ORIGIN)
        if not field.nullable and array.null_count:
            raise BatchError(
                f"{record_type.name}: column {field.name!r} has {array.null_count} nulls in a "
                f"batch of {table.num_rows} rows but is declared without None"
            )
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=schema)


def _holes(table: pa.Table) -> bool:
    """Whether a table of the right schema still has nulls to be filled or refused."""
    return any(
        table.column(index).null_count
        for index, field in enumerate(table.schema)
        if not field.nullable
    )


def _as_table(data: Any, record_type: RecordType) -> pa.Table:
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return pa.table(data)
    raise BatchError(
        f"{record_type.name}: a batch must be Arrow data (pyarrow, polars, or anything with "
        f"__arrow_c_stream__), not {type(data).__qualname__}"
    )


def _cast(array: pa.ChunkedArray, field: pa.Field, record_type: RecordType) -> pa.ChunkedArray:
    if array.type == field.type:
        return array
    if _naive(array.type, field.type) and array.null_count < len(array):
        raise BatchError(
            f"{record_type.name}: column {field.name!r} has naive times ({array.type}); attach the "
            "zone that the input declares"
        )
    try:
        if pa.types.is_map(field.type) and not pa.types.is_map(array.type):
            return as_maps(array, field.type)
        if field.type == ORIGIN and not pa.types.is_dictionary(array.type):
            return array.cast(pa.string()).dictionary_encode().cast(ORIGIN)
        return array.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise BatchError(
            f"{record_type.name}: column {field.name!r} of type {array.type} does not convert "
            f"to {field.type}: {error}"
        ) from error


def _naive(given: pa.DataType, declared: pa.DataType) -> bool:
    """Whether times without a zone would be taken as UTC, which Arrow does without a word."""
    if pa.types.is_timestamp(given):
        return given.tz is None and pa.types.is_timestamp(declared)
    if pa.types.is_list(declared) and (pa.types.is_list(given) or pa.types.is_large_list(given)):
        return _naive(given.value_type, declared.value_type)
    if pa.types.is_struct(declared) and pa.types.is_struct(given):
        return any(
            _naive(given.field(part.name).type, part.type)
            for part in declared
            if given.get_field_index(part.name) >= 0
        )
    return False


def as_maps(array: pa.ChunkedArray, kind: pa.MapType) -> pa.ChunkedArray:
    """Lists of structs of key and value, as polars has maps, as what they stand for."""
    if pa.types.is_null(array.type):
        return pa.chunked_array([pa.nulls(len(array), kind)])
    pair = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
    lists = array.combine_chunks().cast(pa.list_(pair))
    maps = pa.MapArray.from_arrays(
        pc.add(lists.offsets, pa.scalar(0, pa.int32())),  # a copy: a slice takes no mask
        lists.values.field("key"),
        lists.values.field("value"),
        mask=lists.is_null(),
    )
    return pa.chunked_array([maps.cast(kind)])


def _constant(value: str, rows: int) -> pa.ChunkedArray:
    indices = pa.array([0], pa.int32()).take(pa.array([0] * 0, pa.int32()))
    if rows:
        indices = pc.fill_null(pa.nulls(rows, pa.int32()), 0)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, pa.array([value]))])


def batches(table: pa.Table, rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
    """Slices of at most ``rows`` rows, without copying; an empty table gives none."""
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)


def concat_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of tables of one schema, in order; each column in one piece, with one dictionary."""
    if len(tables) == 1:
        return tables[0]
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def size_of(table: pa.Table) -> int:
    """Arrow bytes of a table's rows; of a slice up to 1 MiB, those of what it is cut from."""
    # cheap, but it counts the whole buffers of a slice; exact is slow for wide tables
    size: int = table.get_total_buffer_size()
    return size if size <= _CHEAP_BYTES else table.nbytes


def table_of(record_type: RecordType, instances: Sequence[Record]) -> pa.Table:
    """A table of record instances, in order.

    For small sources; it costs some microseconds per instance.  Raises BatchError naming the
    column when a value does not fit its declared type.
    """
    schema = record_type.arrow_schema
    arrays = []
    for field in schema:
        values = [getattr(instance, field.name) for instance in instances]
        if values and pa.types.is_nested(field.type):
            values = [_plain(value) for value in values]
        try:
            if field.type == ORIGIN:
                array: Any = pa.array(values, pa.string()).dictionary_encode().cast(ORIGIN)
            else:
                if pa.types.is_timestamp(field.type):
                    _require_zone(record_type, field.name, values)
                array = pa.array(values, field.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise BatchError(
                f"{record_type.name}: a value of column {field.name!r} does not fit "
                f"{field.type}: {error}"
            ) from error
        arrays.append(array)
    return pa.table(arrays, schema=schema)


def _require_zone(record_type: RecordType, name: str, values: Sequence[Any]) -> None:
    for value in values:
        if isinstance(value, datetime) and value.tzinfo is None:
            raise BatchError(
                f"{record_type.name}: column {name!r} has the naive time {value}; "
                "attach the zone that the input declares"
            )


def _plain(value: Any) -> Any:
    """A value of a nested column as Arrow takes it: attrs instances become dicts."""
    if attrs.has(type(value)):
        return {a.name: _plain(getattr(value, a.name)) for a in attrs.fields(type(value))}
    if isinstance(value, Mapping):
        return [(key, _plain(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    return value
