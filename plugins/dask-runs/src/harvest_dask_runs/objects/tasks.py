"""Tasks of a Dask run as objects.

    from harvest_dask_runs import TaskHandler

    tasks = TaskHandler.from_dataset("out")
    for task in tasks:
        print(task.key, task.duration, task.time_in_state())
    tasks.write("tasks.txt")

A handler holds the view ``dask.tasks`` as a frame and creates a :class:`Task` only when it is
needed, so a run with millions of events takes only the memory of its frame.
"""

import itertools
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import attrs
import polars as pl

import harvest
from harvest import DatasetReader, Reject

from ..memory import Harvested
from ..views.tasks import tasks
from .events import AnyEvent, SchedulerEvent, TaskState, TransferEvent, WorkerEvent, event_of
from .output import write_tasks
from .text import task_text


@attrs.define(kw_only=True)
class Task:
    """One task of one run, with all its recorded events, in order of time.

    key: in canonical spelling; group, prefix: as the scheduler names them.
    run: directory of its run.
    client, requested, dependencies: from its graph; None if no graph is recorded.
    executed_on, began, ended, duration_s, size_bytes: of its last execution (see ``dask.tasks``).
    """

    key: str
    run: str = ""
    group: str | None = None
    prefix: str | None = None
    client: str | None = None
    requested: bool | None = None
    dependencies: tuple[str, ...] | None = None
    executed_on: str | None = None
    began: datetime | None = None
    ended: datetime | None = None
    duration_s: float | None = None
    size_bytes: int | None = None
    events: tuple[AnyEvent, ...] = ()

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Create the task of a row of the view ``dask.tasks``."""
        values = {field.name: row[field.name] for field in attrs.fields(cls)}
        if values["dependencies"] is not None:
            values["dependencies"] = tuple(values["dependencies"])
        return cls(**values | {"events": tuple(map(event_of, row["events"]))})

    @property
    def first_time(self) -> datetime | None:
        """Time of its first event; None if no event has a time."""
        return min((e.time for e in self.events if e.time is not None), default=None)

    @property
    def last_time(self) -> datetime | None:
        """Time of its last event; None if no event has a time."""
        return max((e.time for e in self.events if e.time is not None), default=None)

    @property
    def duration(self) -> timedelta | None:
        """Time from its first event to its last."""
        first, last = self.first_time, self.last_time
        return None if first is None or last is None else last - first

    @property
    def scheduler_events(self) -> list[SchedulerEvent]:
        """Its transitions in the scheduler, in order."""
        return [event for event in self.events if isinstance(event, SchedulerEvent)]

    @property
    def worker_events(self) -> list[WorkerEvent]:
        """Its transitions in workers, in order."""
        return [event for event in self.events if isinstance(event, WorkerEvent)]

    @property
    def transfer_events(self) -> list[TransferEvent]:
        """Transfers of its data, in order; one that both sides recorded is included twice."""
        return [event for event in self.events if isinstance(event, TransferEvent)]

    @property
    def execution(self) -> SchedulerEvent | None:
        """Its last finished execution, as the scheduler recorded it."""
        done = [event for event in self.scheduler_events if event.executed]
        return done[-1] if done else None

    @property
    def workers(self) -> list[str]:
        """Workers in its events, in order of first appearance."""
        named = (getattr(event, "worker", None) for event in self.events)
        return list(dict.fromkeys(worker for worker in named if worker is not None))

    @property
    def threads(self) -> list[int]:
        """Threads (pthread ids) that ran it, in order of first appearance."""
        ran = (event.thread for event in self.scheduler_events)
        return list(dict.fromkeys(thread for thread in ran if thread is not None))

    @property
    def states(self) -> list[TaskState]:
        """Its states in the scheduler, in order, from the first known one on."""
        events = self.scheduler_events
        return [events[0].start_state, *(e.finish_state for e in events)] if events else []

    @property
    def last_state(self) -> TaskState | None:
        """Its last recorded state in the scheduler."""
        return self.states[-1] if self.states else None

    def time_in_state(self, worker: str | None = None) -> dict[TaskState, float]:
        """Return the seconds spent in each state, in order of first entry.

        worker: use the states in this worker; by default those in the scheduler.

        A state lasts until the next transition by the same recorder; the last state has no end and
        is left out.
        """
        events: Sequence[SchedulerEvent | WorkerEvent] = self.scheduler_events
        if worker is not None:
            events = [event for event in self.worker_events if event.worker == worker]
        spans: dict[TaskState, timedelta] = {}
        for event, after in itertools.pairwise(events):
            if event.time is not None and after.time is not None:
                spent = spans.get(event.finish_state, timedelta(0))
                spans[event.finish_state] = spent + (after.time - event.time)
        return {state: span / timedelta(seconds=1) for state, span in spans.items()}

    def to_text(self) -> str:
        """Return readable lines: facts about the task, then its events in order."""
        return task_text(self)


def tasks_text(frame: pl.DataFrame) -> Iterator[str]:
    """Yield lines of text for each row of the view ``dask.tasks``, with a final newline."""
    return (task_text(Task.from_row(row)) for row in frame.iter_rows(named=True))


class TaskHandler:
    """The tasks of one or more runs: iterate, look up by key, sort, write.

    Iteration yields Task objects by run and first event.  ``handler[key]`` is the task with that
    key; if several runs have the key, use ``handler.get(key, run=...)``.
    """

    def __init__(self, frame: pl.DataFrame, rejects: tuple[Reject, ...] = ()):
        """frame: rows of the view ``dask.tasks``; rejects: input units that could not be read."""
        self.frame = frame
        self.rejects = rejects

    @classmethod
    def from_dataset(
        cls, dataset: DatasetReader | str | os.PathLike[str], run: str | None = None
    ) -> Self:
        """Load the tasks of a dataset, or of the dataset at a path.

        run: the only run to load: its directory, or the directory's name. Raises UsageError if the
            dataset holds no such run.
        """
        if isinstance(dataset, (str, os.PathLike)):
            dataset = harvest.open(dataset)
        return cls(tasks(dataset, run=run).collect())

    @classmethod
    def from_harvested(cls, found: Harvested) -> Self:
        """Load the tasks of rows in memory; warn if some input could not be read."""
        if found.rejects:
            first = found.rejects[0]
            where = first.origin if first.position is None else f"{first.origin}:{first.position}"
            warnings.warn(
                f"{len(found.rejects)} input units could not be read, the first at {where}: "
                f"{first.reason}; see TaskHandler.rejects",
                stacklevel=3,
            )
        return cls(found.tasks(), found.rejects)

    def __len__(self) -> int:
        return self.frame.height

    def __iter__(self) -> Iterator[Task]:
        return map(Task.from_row, self.frame.iter_rows(named=True))

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __getitem__(self, key: str) -> Task:
        """Return the task with a key; raises KeyError if no run or several runs have it."""
        places = self._places.get(key, [])
        if not places:
            raise KeyError(key)
        if len(places) > 1:
            raise KeyError(f"{key} is in {len(places)} runs; use get(key, run=...)")
        return self._task(places[0])

    def get(self, key: str, default: Task | None = None, *, run: str | None = None) -> Task | None:
        """Return the task with a key, of a run or of the first that has it; else the default."""
        for place in self._places.get(key, []):
            task = self._task(place)
            if run is None or task.run == run or task.run.endswith(f"/{run}"):
                return task
        return default

    def keys(self) -> list[str]:
        """Return the keys in order, each once."""
        return list(self._places)

    def values(self) -> Iterator[Task]:
        """Iterate over the tasks."""
        return iter(self)

    def items(self) -> Iterator[tuple[str, Task]]:
        """Yield pairs of key and task; a key of several runs occurs several times."""
        return ((task.key, task) for task in self)

    @property
    def runs(self) -> list[str]:
        """Directories of the runs, sorted."""
        return self.frame["run"].unique().sort().to_list()

    def sorted(self, *, reverse: bool = False) -> Self:
        """Return the tasks ordered by first event, across runs."""
        return type(self)(
            self.frame.sort(
                "first_time", "run", "key", descending=[reverse, False, False], nulls_last=True
            ),
            self.rejects,
        )

    def to_text(self) -> str:
        """Return readable lines for each task."""
        return "\n".join(task.to_text() for task in self)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the tasks to a file, atomically, in the format of its suffix.

        ``.txt``: readable lines.  ``.jsonl``: a row of the view per line.  ``.parquet``: the rows
        of the view.  Raises UsageError for any other suffix.
        """
        write_tasks(self, Path(path))

    def _task(self, place: int) -> Task:
        return Task.from_row(self.frame.row(place, named=True))

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for place, key in enumerate(self.frame["key"]):
            found.setdefault(key, []).append(place)
        return found
