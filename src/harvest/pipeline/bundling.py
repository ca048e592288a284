"""Reading partitions, several together where they are small: what engines run.

``harvest_partitions`` is a plain function of picklable tasks, so that it can run in this process,
in another one, or on another machine that sees the same files.  When it returns, the directories in
staging are complete and describe themselves (``staged``); a directory without a description is
unfinished work, whatever else it holds.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import attrs

from harvest import fault
from harvest.api.sink import Sink
from harvest.errors import SourceError
from harvest.storage.part import Part, write_parts
from harvest.storage.small import write_small_parts
from harvest.storage.staging import (
    ATTEMPTS,
    BUNDLED,
    STAGING,
    bundle_name,
    make_attempt,
    put_in_place,
)
from harvest.toolkit.texts import printable

from .reading import Reading, Small
from .task import Progress, Task, TaskResult, source_errors

__all__ = ["bundles", "harvest_partitions", "prepare_tasks"]

SMALL_INPUT_BYTES: Final = 1 << 20
"""Input bytes of a partition that is read together with others, at most."""

BUNDLE_BYTES: Final = 4 << 20
"""Input bytes of partitions that are read together, at most."""

BUNDLE_PARTITIONS: Final = 8
"""How many are read together at most: so much is read again when a run is killed."""


def bundles(tasks: Iterable[Task]) -> Iterator[tuple[Task, ...]]:
    """Tasks in the same order, neighbours together that are small and for the same sinks.

    It depends on the tasks alone, so that every number of workers makes the same of them.
    """
    together: list[Task] = []
    size = 0
    for task in tasks:
        small = bool(task.partition.inputs) and task.partition.size_bytes <= SMALL_INPUT_BYTES
        fits = (
            small
            and len(together) < BUNDLE_PARTITIONS
            and size + task.partition.size_bytes <= BUNDLE_BYTES
        )
        if together and not (fits and _sinks(task) == _sinks(together[-1])):
            yield tuple(together)
            together, size = [], 0
        together.append(task)
        size += task.partition.size_bytes
        if not small:
            yield tuple(together)
            together, size = [], 0
    if together:
        yield tuple(together)


def _sinks(task: Task) -> list[int]:
    return [id(sink) for sink, _ in task.targets]


def prepare_tasks(tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    """The tasks with their partitions prepared; called in the process that plans.

    Raises PluginError when a source breaks its contract.
    """
    return tuple(map(_prepare, tasks))


def _prepare(task: Task) -> Task:
    try:
        with source_errors(task.source, task.partition):
            partition = task.source.prepare(task.partition)
    except SourceError as error:
        return attrs.evolve(task, unreadable=error.message)
    return attrs.evolve(task, partition=partition)


def harvest_partitions(
    tasks: Sequence[Task], report: Callable[[Progress], None] | None = None
) -> tuple[TaskResult, ...]:
    """Read partitions, for the same sinks, one after the other, and stage them for each sink.

    Raises SourceError for the first reject when ``on_error`` is ``fail``; TooManyRejects when one
    of them alone has more than allowed; PluginError when the source breaks its contract; OSError
    when a sink cannot write.
    """
    read = [Reading(task, report).run() for task in tasks]
    staged = [
        _stage(sink, [each[number] for each in read])
        for number, (sink, _) in enumerate(tasks[0].targets)
    ]
    return tuple(
        TaskResult(
            source=task.source.name,
            origin=printable(task.partition.origin),
            parts=tuple(part for part, _ in places),
            directories=tuple(name for _, name in places),
        )
        for task, *places in zip(tasks, *staged, strict=True)
    )


def _stage(sink: Sink, read: Sequence[Part | Small]) -> list[tuple[Part, str]]:
    """The parts of partitions for one sink, with the names of their staging directories."""
    small = [each for each in read if isinstance(each, Small)]
    name = bundle_name(each.part.stem for each in small)
    together = iter(_stage_small(sink, name, small) if small else ())
    return [
        (next(together), name) if isinstance(each, Small) else (each, each.stem) for each in read
    ]


def _stage_small(sink: Sink, name: str, small: Sequence[Small]) -> tuple[Part, ...]:
    """Stage the rows of several partitions in one directory."""
    place = sink.state / STAGING / name
    attempt = place.parent / ATTEMPTS / f"{name}-{secrets.token_hex(6)}"
    make_attempt(attempt)
    try:
        files = write_small_parts(attempt, [each.tables for each in small])
        parts = [
            attrs.evolve(each.part, files=tuple(mine))
            for each, mine in zip(small, files, strict=True)
        ]
        for each, part in zip(small, parts, strict=True):
            if each.rejects is not None and part.rejects is not None:
                each.rejects.rename(attempt / part.rejects.path)
                each.rejects.parent.rmdir()
        fault.point("partition.staged")
        write_parts(attempt / BUNDLED, parts)
        fault.point("partition.done")
        return put_in_place(parts, attempt, place)
    except BaseException:
        shutil.rmtree(attempt, ignore_errors=True)
        raise
