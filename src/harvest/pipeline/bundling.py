"""Reading partitions, several together where they are small: what engines run.

``harvest_partitions`` is a plain function of picklable tasks, so that it can run in this process,
in another one, or on another machine that sees the same files.  When it returns, the directories in
staging are complete and describe themselves (``staged``); a directory without a description is
unfinished work, whatever else it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import attrs

from harvest.api.sink import Sink
from harvest.errors import SourceError
from harvest.storage.small import Small, stage_small
from harvest.storage.staging import Staged

from .reading import Reading
from .task import Progress, Task, source_errors

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
) -> tuple[tuple[Staged, ...], ...]:
    """Read partitions, for the same sinks, one after the other, and stage them for each sink.

    Gives for each task what is staged of it, once for each of its sinks.
    Raises SourceError for the first reject when ``on_error`` is ``fail``; TooManyRejects when one
    of them alone has more than allowed; PluginError when the source breaks its contract; OSError
    when a sink cannot write.
    """
    read = [Reading(task, report).run() for task in tasks]
    for_each_sink = zip(*read, strict=True)
    staged = [
        _stage(sink, each) for (sink, _), each in zip(tasks[0].targets, for_each_sink, strict=True)
    ]
    return tuple(zip(*staged, strict=True))


def _stage(sink: Sink, read: Sequence[Staged | Small]) -> list[Staged]:
    """What is staged of partitions for one sink, those of few rows together."""
    small = [each for each in read if isinstance(each, Small)]
    together = iter(stage_small(sink.state, small) if small else ())
    return [next(together) if isinstance(each, Small) else each for each in read]
