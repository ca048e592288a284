"""Record types as polars frames.

A frame of a record type has only plain columns, the same in all versions of polars and for all
files. Maps are lists of key-value structs, and dictionary-encoded text is text.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeVar

import polars as pl
import pyarrow as pa

from harvest.columns import Column
from harvest.errors import UsageError

from .record import RecordType
from .types import shape_of

__all__ = [
    "DUCKDB_ONLY", "arrow_type_of", "check_times", "frame_of", "no_rows", "plain_columns",
    "polars_schema", "polars_type", "scan_parquet", "seconds", "types_of", "without_maps",
]  # fmt: skip

DUCKDB_ONLY: Final = re.compile(
    r"""(?!INTERVAL$)(?:[^"']|"[^"]*"|'[^']*')*?"""  # quoted names and values are no types
    r"\b(?:UNION|UHUGEINT|BIT|BIGNUM|VARIANT|TIME WITH TIME ZONE|INTERVAL)\b"
)
"""Types of DuckDB that a frame cannot hold, also within lists and structs."""
_DAYS: Final = tuple((day - date(1970, 1, 1)).days for day in (date.min, date.max))
"""Days since 1970 that polars and Python have as dates."""

Microseconds = TypeVar("Microseconds", pl.Expr, pl.Series)


@lru_cache
def polars_type(kind: pa.DataType) -> pl.DataType:
    """Return the plain polars type for an Arrow type of a record type's schema."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else _without_maps(kind)
    return pl.Series(pa.nulls(0, plain)).dtype  # a list would let pyarrow import pandas


def arrow_type_of(kind: pl.DataType) -> pa.DataType:
    """Return the Arrow type for a polars type.

    A list of structs of ``key`` and ``value`` becomes a map, as in ``polars_type``; a column that
    contains only nulls becomes text.
    """
    if isinstance(kind, pl.List | pl.Array):
        inner = kind.inner
        if isinstance(inner, pl.Struct) and [f.name for f in inner.fields] == ["key", "value"]:
            return pa.map_(*(arrow_type_of(f.dtype) for f in inner.fields))  # type: ignore[arg-type]
        return pa.list_(arrow_type_of(inner))  # type: ignore[arg-type]
    if isinstance(kind, pl.Struct):
        return pa.struct([(f.name, arrow_type_of(f.dtype)) for f in kind.fields])  # type: ignore[arg-type]
    if isinstance(kind, pl.Datetime):
        return pa.timestamp(kind.time_unit, kind.time_zone)
    if kind == pl.Binary:
        return pa.binary()
    if kind == pl.String or kind == pl.Null or kind == pl.Categorical or isinstance(kind, pl.Enum):
        return pa.string()
    return pl.Series([], dtype=kind).to_arrow(compat_level=pl.CompatLevel.oldest()).type


def types_of(columns: Iterable[Column]) -> dict[str, pl.DataType]:
    """Return a view's columns by name, with polars types."""
    return {column.name: polars_type(shape_of(column.type).kind) for column in columns}


def polars_schema(record_type: RecordType) -> dict[str, pl.DataType]:
    """Return column names and plain polars types of a record type, in order."""
    return {field.name: polars_type(field.type) for field in record_type.arrow_schema}


@lru_cache
def no_rows(record_type: RecordType) -> pl.LazyFrame:
    """Return an empty frame of a record type; cached, since views often request it."""
    return pl.LazyFrame(schema=polars_schema(record_type))


@lru_cache
def native_schema(record_type: RecordType) -> dict[str, pl.DataType]:
    """Return the types that this version of polars gives to Arrow data of a record type."""
    frame: pl.DataFrame = pl.from_arrow(pa.Table.from_batches([], record_type.arrow_schema))  # type: ignore[assignment]
    return dict(frame.schema)


@lru_cache
def plain_columns(record_type: RecordType) -> list[pl.Expr]:
    """Return expressions that convert a frame in polars' native types to plain columns."""
    native = native_schema(record_type)
    return [
        pl.col(name) if native[name] == kind else pl.col(name).cast(kind)
        for name, kind in polars_schema(record_type).items()
    ]


def frame_of(record_type: RecordType, table: pa.Table) -> pl.DataFrame:
    """Convert a table with exactly the record type's schema to a frame of plain columns."""
    arrays = [without_maps(column) for column in table.columns]
    frame: pl.DataFrame = pl.from_arrow(pa.table(arrays, names=table.column_names))  # type: ignore[assignment]
    return frame.cast(polars_schema(record_type))  # type: ignore[arg-type]


def without_maps(array: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Convert maps in an array to lists of key-value structs, which every polars version reads."""
    return array.cast(_without_maps(array.type))


def _without_maps(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_map(kind):
        key, value = _without_maps(kind.key_type), _without_maps(kind.item_type)
        return pa.list_(pa.struct([("key", key), ("value", value)]))
    if pa.types.is_list(kind):
        return pa.list_(_without_maps(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _without_maps(field.type)) for field in kind])
    return kind


def seconds(microseconds: Microseconds) -> Microseconds:
    """Convert whole microseconds to seconds, each to the nearest float.

    polars divides by a constant by multiplying, which is a digit off for one value in three.
    """
    return (microseconds / 1e6).round(6)


_MAPS: Final = getattr(pl, "Map", ())  # older polars reads maps as lists


def check_times(rows: pl.DataFrame, name: str = "") -> None:
    """Raise UsageError for a column that contains dates or times that Python does not have.

    name: of the column whose parts the rows are.
    """
    for column in rows:
        while isinstance(column.dtype, (pl.List, pl.Array, _MAPS)):
            column = column.map.entries() if isinstance(column.dtype, _MAPS) else column.explode()
        if column.dtype == pl.Struct:
            check_times(column.struct.unnest(), name or column.name)
        elif column.dtype in (pl.Date, pl.Datetime):
            days = column.drop_nulls().cast(pl.Date, strict=False).to_physical()
            if not days.is_between(_DAYS[0], _DAYS[1]).all(ignore_nulls=False):
                problem = f"{name or column.name} has times outside the years 1 to 9999"
                raise UsageError(problem, remedy="CAST(... AS VARCHAR) makes text of them")


def scan_parquet(paths: Sequence[Path | str], record_type: RecordType) -> pl.LazyFrame:
    """Scan Parquet files of a record type lazily, in their native schema.

    Files of other versions and writers are accepted: a missing column is null, an undeclared column
    is left out, a narrower number is widened, and texts may be dictionaries or not.
    """
    native = native_schema(record_type).items()
    return pl.scan_parquet(
        [Path(path) for path in paths],
        schema={name: pl.String() if kind == pl.Categorical else kind for name, kind in native},
        missing_columns="insert",
        extra_columns="ignore",
        cast_options=pl.ScanCastOptions(
            integer_cast="upcast",
            float_cast="upcast",
            categorical_to_string="allow",
            missing_struct_fields="insert",
            extra_struct_fields="ignore",
        ),
        glob=False,
        hive_partitioning=False,
    )
