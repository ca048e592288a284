"""harvest plugin for Dask runs recorded through Mofka.

The names below are for use from Python; each is imported when first used.  The plugin itself is
declared in ``plugin``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api.objects import (
        EventSource,
        GraphEvent,
        SchedulerEvent,
        Task,
        TaskEvent,
        TaskHandler,
        TaskState,
        TransferEvent,
        WorkerEvent,
    )

__all__ = [
    "EventSource",
    "GraphEvent",
    "SchedulerEvent",
    "Task",
    "TaskEvent",
    "TaskHandler",
    "TaskState",
    "TransferEvent",
    "WorkerEvent",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(".api.objects", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
