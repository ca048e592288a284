"""Arrow tables of record types: brought to the declared schema, cut, joined and measured.

``conform`` is the gate every batch passes before a sink sees it: whatever a source yields
(pyarrow, polars, anything with ``__arrow_c_stream__``) leaves as a table of exactly the declared
schema, or raises :class:`BatchError` naming column, row and value that do not fit.
"""

from __future__ import annotations

import reprlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from .column import BatchError
from .contract import Column, Misfit, array_of, fit
from .types import ORIGIN, Shape, shapes_of

if TYPE_CHECKING:
    from .record import Record, RecordType

__all__ = ["concat_tables", "conform", "size_of", "table_of"]

BATCH_ROWS = 65_536
"""Rows of a batch handed to a sink, at most."""

_CHEAP_BYTES = 1 << 20
_BRIEF = reprlib.Repr()
_SHOWN = _BRIEF.maxstring = _BRIEF.maxother = 60


def conform(
    record_type: RecordType, data: Any, *, origin: str | None = None, position: int | None = None
) -> pa.Table:
    """A table of exactly ``record_type``'s schema.

    data: a pyarrow table or record batch, or any object with ``__arrow_c_stream__`` or
        ``__arrow_c_array__`` (a polars frame).  Nullable columns may be missing.
    origin: fills the column ``origin`` where the data has none.
    position: of the first row, from which rows are numbered where the data has no ``position``.

    Raises BatchError when a column is unknown or there twice, or a value is none of its declared
    type (``harvest.model.contract``).
    """
    table = _as_table(record_type, data)
    shapes = shapes_of(record_type)
    names = table.column_names
    for name in names:
        if name not in shapes:
            raise BatchError(
                f"{record_type.name}: column {name!r} is not declared by "
                f"{record_type.cls.__qualname__}; declare it or put its text into 'extra'"
            )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise BatchError(f"{record_type.name}: column {twice!r} is there twice; rename one")
    given = dict(zip(names, table.columns, strict=True))
    if position is not None and "position" not in given:
        numbers = pa.array(range(position, position + table.num_rows), pa.int64())
        given["position"] = pa.chunked_array([numbers])
    arrays = []
    for name, shape in shapes.items():
        is_filled = name == "origin" and origin is not None
        if is_filled:
            shape = attrs.evolve(shape, nullable=True)
        if name not in given and table.num_rows and not shape.nullable:
            raise BatchError(
                f"{record_type.name}: column {name!r} is missing, but declared without None"
            )
        column = given.get(name, pa.chunked_array([pa.nulls(table.num_rows)]))
        try:
            array = fit(column, shape)
        except Misfit as misfit:
            row = _first_misfit(column, shape)
            at = given["position"][row] if "position" in given else None
            shown = _shown(column.slice(row, 1))
            raise _refusal(record_type, name, shape, shown, row, at, misfit) from misfit
        arrays.append(_filled(array, str(origin)) if is_filled else array)
    return pa.Table.from_arrays(arrays, schema=record_type.arrow_schema)


def _as_table(record_type: RecordType, data: Any) -> pa.Table:
    """Arrow data of any library as a table; raises BatchError for what is none."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if not (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        raise BatchError(
            f"{record_type.name}: a batch must be Arrow data (pyarrow, polars, or anything with "
            f"__arrow_c_stream__), not {type(data).__qualname__}"
        )
    try:
        return pa.table(data)
    except pa.ArrowException as error:
        raise BatchError(
            f"{record_type.name}: a column of the batch is of a type that Arrow does not have "
            f"({error}); convert it in the source"
        ) from error


def _filled(array: Column, origin: str) -> Column:
    """The column ``origin`` with a value instead of nulls."""
    if array.null_count == len(array):
        indices = pc.fill_null(pa.nulls(len(array), pa.int32()), 0)
        return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, pa.array([origin]))])
    if not array.null_count:
        return array
    return pc.fill_null(array.cast(pa.string()), origin).dictionary_encode().cast(ORIGIN)


def _first_misfit(column: pa.ChunkedArray, shape: Shape) -> int:
    """The first row that does not fit; halves the rows, for columns are long."""

    def fits(rows: int) -> bool:
        try:
            fit(column.slice(0, rows), shape)
        except Misfit:
            return False
        return True

    return bisect_left(range(len(column)), True, key=lambda row: not fits(row + 1))


def _shown(value: pa.ChunkedArray) -> str:
    """The one value of an array, for a person."""
    if "[" in str(value.type):  # times, of which Python does not have all
        return " ".join(value.to_string(skip_new_lines=True).strip("[]").split())[:_SHOWN]
    try:
        return _BRIEF.repr(value[0].as_py())
    except ValueError:  # a struct with one field name twice, which no dict holds
        return str(value.type)[:_SHOWN]


def _refusal(
    record_type: RecordType,
    name: str,
    shape: Shape,
    shown: str,
    row: int,
    position: Any,
    misfit: Misfit,
) -> BatchError:
    at = "" if position is None else f", position {position}"
    return BatchError(
        f"{record_type.name}: column {name!r} ({shape.kind}) cannot hold {shown} (row {row + 1} of "
        f"a batch{at}): {misfit.reason}; {misfit.remedy}"
    )


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

    For small sources; it costs some microseconds per instance.  Raises BatchError as ``conform``
    does when a value is none of its declared type.
    """
    arrays = []
    for name, shape in shapes_of(record_type).items():
        values = [getattr(instance, name) for instance in instances]
        try:
            arrays.append(array_of(values, shape))
        except Misfit:
            for row, value in enumerate(values):
                try:
                    array_of([value], shape)
                except Misfit as misfit:
                    position, shown = instances[row].position, _BRIEF.repr(value)
                    raise _refusal(
                        record_type, name, shape, shown, row, position, misfit
                    ) from misfit
            raise
    return pa.Table.from_arrays(arrays, schema=record_type.arrow_schema)
