"""Events of a task as objects: states, and events by recorder."""

import abc
import enum
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Self, TypeAlias

import attrs


class TaskState(enum.StrEnum):
    """A state of a task, in the scheduler or in a worker.

    The members are the states that Dask documents.  Any other state is kept:
    ``TaskState("teleporting")`` is a TaskState with that value, equal to the text, whose ``known``
    is False.
    """

    RELEASED = "released"
    WAITING = "waiting"
    NO_WORKER = "no-worker"
    QUEUED = "queued"
    PROCESSING = "processing"
    MEMORY = "memory"
    ERRED = "erred"
    FORGOTTEN = "forgotten"
    CONSTRAINED = "constrained"
    READY = "ready"
    EXECUTING = "executing"
    LONG_RUNNING = "long-running"
    FETCH = "fetch"
    FLIGHT = "flight"
    MISSING = "missing"
    CANCELLED = "cancelled"
    RESUMED = "resumed"
    RESCHEDULED = "rescheduled"
    ERROR = "error"

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        state = str.__new__(cls, value)
        state._name_ = value
        state._value_ = value
        return state

    @property
    def known(self) -> bool:
        """Whether it is one of the documented states."""
        return self._value_ in type(self)._value2member_map_


class EventSource(enum.StrEnum):
    """Who recorded an event."""

    SCHEDULER = "scheduler"
    WORKER = "worker"
    TRANSFER = "transfer"
    GRAPH = "graph"


@attrs.define(kw_only=True)
class TaskEvent(abc.ABC):
    """One event of a task.

    time: when it happened, by the recorder's clock.
    origin, position: the file from which it was read, and the number of the record there.
    """

    source: ClassVar[EventSource]

    time: datetime | None
    origin: str | None = None
    position: int | None = None

    @property
    @abc.abstractmethod
    def what(self) -> str:
        """The event in a few words."""


@attrs.define(kw_only=True)
class Transition(TaskEvent):
    """A task's state changed, in the scheduler or in a worker."""

    start_state: TaskState
    finish_state: TaskState

    @property
    def what(self) -> str:
        """``waiting -> processing``."""
        return f"{self.start_state} -> {self.finish_state}"


@attrs.define(kw_only=True)
class SchedulerEvent(Transition):
    """The scheduler changed a task's state.

    worker, thread (pthread id), begins, ends (by the worker's clock), duration_s, size_bytes:
    where and when the task ran, and the size of its result; only for processing -> memory.
    """

    source = EventSource.SCHEDULER

    stimulus_id: str | None = None
    worker: str | None = None
    thread: int | None = None
    begins: datetime | None = None
    ends: datetime | None = None
    duration_s: float | None = None
    size_bytes: int | None = None

    @property
    def executed(self) -> bool:
        """Whether this is a finished execution."""
        return (self.start_state, self.finish_state) == (TaskState.PROCESSING, TaskState.MEMORY)


@attrs.define(kw_only=True)
class WorkerEvent(Transition):
    """A worker changed a task's state."""

    source = EventSource.WORKER

    worker: str | None = None


@attrs.define(kw_only=True)
class TransferEvent(TaskEvent):
    """A transfer of a task's data, as one side recorded it.

    worker: the recorder; direction: incoming or outgoing, as seen from the recorder.
    requestor: the receiver; None for a client.  fulfiller: the sender.
    begins, ends, duration_s: of the whole transfer; size_bytes: this task's share of total_bytes.
    copies: how often the input contains it.
    """

    source = EventSource.TRANSFER

    direction: str
    worker: str | None = None
    requestor: str | None = None
    fulfiller: str | None = None
    begins: datetime | None = None
    ends: datetime | None = None
    duration_s: float | None = None
    size_bytes: int | None = None
    total_bytes: int | None = None
    copies: int | None = None

    @property
    def what(self) -> str:
        """``incoming from tcp://10.0.0.1:40001``."""
        if self.direction == "incoming":
            return f"incoming from {self.fulfiller or 'an unnamed worker'}"
        return f"outgoing to {self.requestor or 'a client'}"


@attrs.define(kw_only=True)
class GraphEvent(TaskEvent):
    """A client sent a graph with the task; requested: whether it asked for the task's result."""

    source = EventSource.GRAPH

    client: str | None = None
    requested: bool | None = None

    @property
    def what(self) -> str:
        """``sent by Client-1``."""
        return f"sent by {self.client or 'a client'}"


AnyEvent: TypeAlias = SchedulerEvent | WorkerEvent | TransferEvent | GraphEvent

_CLASSES: dict[str, type[AnyEvent]] = {
    cls.source: cls for cls in (SchedulerEvent, WorkerEvent, TransferEvent, GraphEvent)
}
_FIELDS = {cls: [field.name for field in attrs.fields(cls)] for cls in _CLASSES.values()}


def event_of(row: Mapping[str, Any]) -> AnyEvent:
    """Create the event of a struct in the column ``events`` of ``dask.tasks``.

    Raises ValueError if its ``source`` is not in EventSource.
    """
    cls = _CLASSES[EventSource(row["source"])]
    values = {name: row[name] for name in _FIELDS[cls]}
    for name in ("start_state", "finish_state"):
        if name in values:
            values[name] = TaskState(values[name])
    return cls(**values)
