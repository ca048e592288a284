"""The columns of a record type, the fixed words of the model, and what can be wrong with either.

A *role* ties a column of one record type to the column that all types share in the ``events``
view: the column with role ``host`` of any type is that view's ``host``.  *Layer* and *level* say
where in a workflow's life a record type belongs.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, get_args

import attrs

Role: TypeAlias = Literal["time", "end_time", "subject", "host", "pid", "thread", "user", "job"]
Layer: TypeAlias = Literal["job", "workflow", "system"]
Level: TypeAlias = Literal[
    "job", "config", "client", "scheduler", "worker", "process", "thread", "coroutine"
]

ROLES: Final[tuple[Role, ...]] = get_args(Role)
LAYERS: Final[tuple[Layer, ...]] = get_args(Layer)
LEVELS: Final[tuple[Level, ...]] = get_args(Level)


TAIL: Final = ("extra", "origin", "position")
"""The columns that end every table, in this order."""


@attrs.frozen
class Column:
    """One column of a record type.

    python_type is the annotation with ``None`` removed; nullable says whether it was there.
    """

    name: str
    python_type: Any
    nullable: bool
    role: Role | None = None
    unit: str | None = None
    doc: str = ""


class RecordTypeError(TypeError):
    """A record class is declared in a way that no schema can be derived from."""


class BatchError(ValueError):
    """A batch does not fit the record type that it was yielded for."""
