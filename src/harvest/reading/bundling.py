"""Reading partitions, several together where they are small: what bundles do.

``harvest_partitions`` is a plain function of picklable tasks, so that it can run in this process,
in another one, or on another machine that sees the same files.  When it returns, the directories in
staging are complete and describe themselves (``staged``); a directory without a description is
unfinished work, whatever else it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol, TypeVar

import attrs

from harvest import interrupt
from harvest.api.sink import Sink
from harvest.api.source import Partition
from harvest.errors import SourceError
from harvest.storage.small import Small, stage_small
from harvest.storage.staging import Staged, staged_before

from .meter import Meter, Progress
from .reading import Reading
from .rows import sink_errors, source_errors
from .spooled import prepare
from .task import Task, identify

SMALL_INPUT_BYTES: Final = 1 << 20
"""Input bytes of a partition that is read together with others, at most."""

BUNDLE_BYTES: Final = 4 << 20
"""Input bytes of partitions that are read together, at most."""

BUNDLE_PARTITIONS: Final = 32
"""How many are read together at most: so much is read again when a run is killed."""

OPENING_BYTES: Final = 64 << 10
"""Input that is read in the time that a partition costs beside its bytes: about a millisecond."""

UNKNOWN_BYTES: Final = 64 << 20
"""What a partition of unknown size counts: it may be a large one."""


class _Partitioned(Protocol):
    @property
    def partition(self) -> Partition: ...


T = TypeVar("T", bound=_Partitioned)


def cost_bytes(partition: Partition) -> int:
    """Input that is read in the time that a partition takes, to share work out."""
    return OPENING_BYTES + (partition.size_bytes or UNKNOWN_BYTES)


def bundles(todo: Iterable[T], sinks: Callable[[T], Hashable]) -> Iterator[tuple[T, ...]]:
    """What is to be read in the same order, neighbours together that are small.

    sinks: names the sinks that one is for; only those for the same are taken together.
    It depends on these alone, so that every number of workers makes the same of them.
    """
    together: list[T] = []
    size = 0
    for item in todo:
        partition = item.partition
        small = bool(partition.inputs) and partition.size_bytes <= SMALL_INPUT_BYTES
        fits = (
            small
            and len(together) < BUNDLE_PARTITIONS
            and size + partition.size_bytes <= BUNDLE_BYTES
        )
        if together and not (fits and sinks(item) == sinks(together[-1])):
            yield tuple(together)
            together, size = [], 0
        together.append(item)
        size += partition.size_bytes
        if not small:
            yield tuple(together)
            together, size = [], 0
    if together:
        yield tuple(together)


def prepare_tasks(tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    """The tasks with their partitions prepared; called in the process that plans.

    Raises PluginError when a source breaks its contract.
    """
    return tuple(map(_prepare, tasks))


def _prepare(task: Task) -> Task:
    interrupt.check()
    try:
        with source_errors(task.source, task.partition):
            partition = prepare(task.source, task.partition)
    except SourceError as error:
        return attrs.evolve(task, unreadable=error.message)
    return task if partition is task.partition else attrs.evolve(task, partition=partition)


def harvest_partitions(
    tasks: Sequence[Task], report: Callable[[Progress], None] | None = None
) -> tuple[tuple[Staged, ...], ...]:
    """Read partitions, for the same sinks, one after the other, and stage them for each sink.

    Gives for each task what is staged of it, once for each of its sinks.  What an attempt before
    has finished is taken as it is: a worker that was lost may have done a part of the work.
    Raises SourceError for the first reject when ``on_error`` is ``fail``; TooManyRejects when one
    of them alone has more than allowed; PluginError when the source or a sink breaks its contract;
    OSError when a sink cannot write.
    """
    tasks = list(map(identify, tasks))
    sinks = [sink for sink, _ in tasks[0].targets]
    stems = zip(*([part.stem for _, part in task.targets] for task in tasks), strict=True)
    there = [staged_before(sink.state, mine) for sink, mine in zip(sinks, stems, strict=True)]
    meter = Meter(report)
    with sink_errors(sinks):
        read = [_staged_for_all(task, there) or Reading(task, meter).run() for task in tasks]
        meter.flush()
        staged = map(_stage, sinks, zip(*read, strict=True))
        return tuple(zip(*staged, strict=True))


def _staged_for_all(task: Task, there: Sequence[Mapping[str, Staged]]) -> list[Staged] | None:
    """What another attempt has staged of a task for each sink, if it has for all."""
    found = [each.get(part.stem) for each, (_, part) in zip(there, task.targets, strict=True)]
    whole = [staged for staged in found if staged is not None]
    return whole if len(whole) == len(found) else None


def _stage(sink: Sink, read: Sequence[Staged | Small]) -> list[Staged]:
    """What is staged of partitions for one sink, those of few rows together."""
    small = [each for each in read if isinstance(each, Small)]
    together = iter(stage_small(sink.state, small) if small else ())
    return [next(together) if isinstance(each, Small) else each for each in read]
