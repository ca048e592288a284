"""Dask runs of any recorder: views, reports, rules, I/O by task, traces, and objects.

The names below are for use from Python; each is imported when first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .objects.events import (
        EventSource,
        GraphEvent,
        SchedulerEvent,
        TaskEvent,
        TaskState,
        TransferEvent,
        WorkerEvent,
    )
    from .objects.tasks import Task, TaskHandler

__all__ = [
    "EventSource", "GraphEvent", "SchedulerEvent", "Task", "TaskEvent", "TaskHandler", "TaskState",
    "TransferEvent", "WorkerEvent",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = ".objects.tasks" if name in ("Task", "TaskHandler") else ".objects.events"
    return getattr(importlib.import_module(place, __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
