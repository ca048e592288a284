"""The fixed words of the model: roles of columns, layers and levels of the metadata map.

A *role* ties a column of one record type to the column that all types share in the ``events``
view: the column with role ``host`` of any type is that view's ``host``.  *Layer* and *level* say
where in a workflow's life a record type belongs.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

Role: TypeAlias = Literal["time", "end_time", "subject", "host", "pid", "thread", "user", "job"]
Layer: TypeAlias = Literal["job", "workflow", "system"]
Level: TypeAlias = Literal[
    "job", "config", "client", "scheduler", "worker", "process", "thread", "coroutine"
]

ROLES: Final[tuple[Role, ...]] = get_args(Role)
LAYERS: Final[tuple[Layer, ...]] = get_args(Layer)
LEVELS: Final[tuple[Level, ...]] = get_args(Level)
