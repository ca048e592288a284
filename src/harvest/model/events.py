"""All record types in one shape: the common event model.

The columns with a role become the shared column of that name, the others go into ``data``, as the
JSON text of the row.  ``data`` holds every column of the type but ``origin`` and ``position``,
which have columns of their own, and ``extra`` where it is null.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pyarrow as pa

from harvest.moved import moved

from .errors import RecordTypeError
from .json import object_text
from .record import RecordType
from .vocabulary import Role

__all__ = ["event_columns"]

__getattr__ = moved(__name__, "harvest_jsonl.event_lines")

_TIME = pa.timestamp("us", tz="UTC")

EVENTS_SCHEMA = pa.schema(
    [
        pa.field("record_type", pa.string(), nullable=False),
        pa.field("time", _TIME),
        pa.field("end_time", _TIME),
        pa.field("subject", pa.string()),
        pa.field("host", pa.string()),
        pa.field("pid", pa.int64()),
        pa.field("thread", pa.string()),
        pa.field("user", pa.string()),
        pa.field("job", pa.string()),
        pa.field("layer", pa.string(), nullable=False),
        pa.field("level", pa.string(), nullable=False),
        pa.field("origin", pa.string(), nullable=False),
        pa.field("position", pa.int64(), nullable=False),
        pa.field("data", pa.string(), nullable=False),
    ]
)
"""The columns of the ``events`` view; ``data`` is the text of a JSON object."""

_ROLES: tuple[Role, ...] = (
    "time",
    "end_time",
    "subject",
    "host",
    "pid",
    "thread",
    "user",
    "job",
)


def project_lazy(record_type: RecordType, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Rows of a record type, in plain columns as sinks scan them, as rows of ``EVENTS_SCHEMA``.

    Raises RecordTypeError when a column cannot play its role.
    """
    return frame.select(event_columns(record_type))


def event_columns(record_type: RecordType) -> list[pl.Expr]:
    """Expressions for the columns of ``EVENTS_SCHEMA`` over a frame of plain columns.

    Raises RecordTypeError when a column cannot play its role.
    """
    shared = _shared_columns(record_type)
    return [
        pl.lit(record_type.name).alias("record_type"),
        *(shared[role].alias(role) for role in _ROLES),
        pl.lit(record_type.layer).alias("layer"),
        pl.lit(record_type.level).alias("level"),
        pl.col("origin"),
        pl.col("position"),
        _data(record_type).alias("data"),
    ]


def _data(record_type: RecordType) -> pl.Expr:
    return object_text(record_type, omit=("origin", "position"), sparse="extra")


def _shared_columns(record_type: RecordType) -> Mapping[str, pl.Expr]:
    schema = record_type.arrow_schema
    roles = record_type.roles
    columns: dict[str, pl.Expr] = {}
    for role in _ROLES:
        wanted = EVENTS_SCHEMA.field(role).type
        if role not in roles:
            columns[role] = _nulls(wanted)
            continue
        name = roles[role]
        columns[role] = _in_role(record_type, name, role, schema.field(name).type, wanted)
    return columns


def _nulls(wanted: pa.DataType) -> pl.Expr:
    if pa.types.is_timestamp(wanted):
        return pl.lit(None, dtype=pl.Datetime("us", "UTC"))
    return pl.lit(None, dtype=pl.Int64() if pa.types.is_integer(wanted) else pl.String())


def _in_role(
    record_type: RecordType, name: str, role: str, kind: pa.DataType, wanted: pa.DataType
) -> pl.Expr:
    """The column ``name`` as the shared column of its role."""
    value = pl.col(name)
    if pa.types.is_timestamp(wanted) and kind == wanted:
        return value
    if pa.types.is_integer(wanted) and pa.types.is_integer(kind):
        return value.cast(pl.Int64)
    if pa.types.is_string(wanted):
        if pa.types.is_string(kind):
            return value
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            return value.cast(pl.String)
    raise RecordTypeError(
        f"{record_type.name}: column {name!r} is {kind} and cannot have role {role!r}, "
        f"which needs {_NEEDS.get(role, 'text or a number')}"
    )


_NEEDS = {"time": "a datetime", "end_time": "a datetime", "pid": "an integer"}
