"""The common event model: all record types in one form.

Columns with a role become the shared column of that role; the others go into ``data``, the JSON
text of the row. ``data`` holds every column of the type except ``origin`` and ``position``, which
are separate columns, and ``extra`` if it is null.
"""

import polars as pl
import pyarrow as pa

from .column import ROLES, RecordTypeError, Role
from .frames import polars_type
from .json import object_text, types_in
from .record import RecordType
from .types import TIMESTAMP

__all__ = ["event_columns"]

_TYPES = {"time": TIMESTAMP, "end_time": TIMESTAMP, "pid": pa.int64(), "position": pa.int64()}

EVENTS_SCHEMA = pa.schema(
    pa.field(name, _TYPES.get(name, pa.string()), nullable=name in ROLES)
    for name in ("record_type", *ROLES, "layer", "level", "origin", "position", "data")
)
"""Schema of the ``events`` view; ``data`` is the text of a JSON object."""


def event_columns(record_type: RecordType) -> list[pl.Expr]:
    """Return expressions for the columns of ``EVENTS_SCHEMA`` over a frame of plain columns.

    Raises RecordTypeError when a column's type does not suit its role.
    """
    kinds = types_in(record_type)
    del kinds["origin"], kinds["position"]
    return [
        pl.lit(record_type.name).alias("record_type"),
        *(_in_role(record_type, role).alias(role) for role in ROLES),
        pl.lit(record_type.layer).alias("layer"),
        pl.lit(record_type.level).alias("level"),
        pl.col("origin"),
        pl.col("position"),
        object_text(kinds, sparse="extra").alias("data"),
    ]


def _in_role(record_type: RecordType, role: Role) -> pl.Expr:
    """Return the shared column of a role: the column with that role, or nulls."""
    wanted = EVENTS_SCHEMA.field(role).type
    name = record_type.roles.get(role)
    if name is None:
        return pl.lit(None, dtype=polars_type(wanted))
    value, kind = pl.col(name), record_type.arrow_schema.field(name).type
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
