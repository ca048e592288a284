"""The columns of a record type, the fixed terms of the model, and errors in both.

A *role* maps a column of a record type to a shared column of the ``events`` view: the column with
role ``host`` of any type becomes ``host`` there. *Layer* and *level* place a record type in the
parts of a workflow's run.
"""

import types
import typing
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

    python_type is the annotation without ``None``; nullable says whether ``None`` was allowed.
    """

    name: str
    python_type: Any
    nullable: bool
    role: Role | None = None
    unit: str | None = None
    doc: str = ""


class RecordTypeError(TypeError):
    """A record class has a declaration from which no schema can be derived."""


class BatchError(ValueError):
    """A batch does not fit the record type for which it was yielded."""


def without_none(hint: Any) -> tuple[Any, bool]:
    """Return an annotation without its ``| None``, and whether it had that."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = [m for m in typing.get_args(hint) if m is not type(None)]
        if len(members) != 1:
            raise RecordTypeError(
                f"a column has one type, with or without None; {hint!r} has several"
            )
        return members[0], True
    return hint, False
