"""Arrow tables of record types: fit to the declared schema, slice, join and measure.

Every batch passes through ``conform`` before it reaches a sink. Data of a source (pyarrow, polars,
anything with ``__arrow_c_stream__``) becomes a table of exactly the declared schema. Otherwise
:class:`BatchError` names column, row and value that do not fit.
"""

from __future__ import annotations

import reprlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

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
"""Maximum number of rows of a batch that a sink receives."""

_CHEAP_BYTES = 1 << 20
_BRIEF = reprlib.Repr()
_SHOWN = _BRIEF.maxstring = _BRIEF.maxother = 60


def conform(
    record_type: RecordType, data: Any, *, origin: str | None = None, position: int | None = None
) -> pa.Table:
    """Convert data to a table with exactly the schema of ``record_type``.

    data: a pyarrow table or record batch, or any object with ``__arrow_c_stream__`` or
        ``__arrow_c_array__`` (a polars frame). Nullable columns may be missing.
    origin: fills the column ``origin`` where the data has none.
    position: number of the first row; later rows count up from it if the data has no ``position``.

    Raises BatchError when a column is unknown or repeated, or a value does not have its declared
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
        ones = pa.repeat(pa.scalar(1, pa.int64()), table.num_rows)
        given["position"] = pa.chunked_array([pc.cumulative_sum(ones, start=position - 1)])
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
        except Misfit:
            row, misfit = _first_misfit(column, shape)
            at = given["position"][row] if "position" in given else None
            shown = _shown(column.slice(row, 1))
            raise _refusal(record_type, name, shape, shown, row, at, misfit) from misfit
        arrays.append(_filled(array, str(origin)) if is_filled else array)
    return pa.Table.from_arrays(arrays, schema=record_type.arrow_schema)


def _as_table(record_type: RecordType, data: Any) -> pa.Table:
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
    """Fill nulls in the column ``origin`` with a value."""
    if array.null_count == len(array):
        indices = pc.fill_null(pa.nulls(len(array), pa.int32()), 0)
        return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, pa.array([origin]))])
    if not array.null_count:
        return array
    return pc.fill_null(array.cast(pa.string()), origin).dictionary_encode().cast(ORIGIN)


def _first_misfit(column: pa.ChunkedArray, shape: Shape) -> tuple[int, Misfit]:
    """Return the first row that does not fit, by binary search, since columns are long, and why."""

    def misfit(row: int) -> Misfit | None:
        try:
            fit(column.slice(0, row + 1), shape)
        except Misfit as error:
            return error
        return None

    row = bisect_left(range(len(column)), True, key=lambda row: misfit(row) is not None)
    return row, cast("Misfit", misfit(row))


def _shown(value: pa.ChunkedArray) -> str:
    if "[" in str(value.type):  # times, which may be outside Python's range
        return " ".join(value.to_string(skip_new_lines=True).strip("[]").split())[:_SHOWN]
    try:
        return _BRIEF.repr(value[0].as_py())
    except ValueError:  # a struct with a repeated field name, which a dict cannot hold
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
    """Yield slices of at most ``rows`` rows, without copying; nothing for an empty table."""
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)


def concat_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Join tables of one schema, in order; each column has one chunk and one dictionary."""
    if len(tables) == 1:
        return tables[0]
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def size_of(table: pa.Table) -> int:
    """Return the Arrow bytes of a table; for a slice up to 1 MiB, those of its source table."""
    # fast, but counts whole buffers, even of a slice; the exact size is slow for wide tables
    size: int = table.get_total_buffer_size()
    return size if size <= _CHEAP_BYTES else table.nbytes


def table_of(record_type: RecordType, instances: Sequence[Record]) -> pa.Table:
    """Build a table from record instances, in order.

    For small sources: it costs some microseconds per instance. Raises BatchError as ``conform``
    does when a value does not have its declared type.
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
