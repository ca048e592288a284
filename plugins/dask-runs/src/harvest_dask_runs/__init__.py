"""Dask runs from whatever recorder: record types, the source of captures, views and reports.

The names below are for use from Python; each is imported when first used.  ``plugin`` declares
what harvest finds; ``records``, ``recorder`` and ``memory`` are for a reader of another recorder.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .objects.tasks import (
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
    value = getattr(importlib.import_module(".objects.tasks", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
