"""What engines run: the reading of partitions, several together where they are small.

``harvest_partitions`` is a plain function of picklable tasks, so that it can run in this process,
in another one, or on another machine that sees the same files.  When it returns, the directories in
staging are complete and describe themselves (``staged``); a directory without a description is
unfinished work, whatever else it holds.

A run that leaves the reading to workers needs no more than this of it; what reads (``reading``)
comes with Arrow, which takes its time to import.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import attrs

from harvest.api.sink import Sink
from harvest.api.source import Partition, Source
from harvest.errors import HarvestError, PluginError, SourceError
from harvest.storage.manifest import Part
from harvest.storage.staging import STAGING, Staged
from harvest.toolkit.texts import printable

__all__ = [
    "Progress",
    "SourceRejected",
    "Task",
    "TaskResult",
    "bundles",
    "harvest_partitions",
    "prepare_tasks",
    "source_errors",
]

_OUT_OF_SPACE = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS))

SMALL_INPUT_BYTES: Final = 1 << 20
"""Input bytes of a partition that is read together with others, at most."""

BUNDLE_BYTES: Final = 4 << 20
"""Input bytes of partitions that are read together, at most."""

BUNDLE_PARTITIONS: Final = 16
"""How many are read together at most: so much is read again when a run is killed."""


@attrs.frozen(kw_only=True)
class Task:
    """One partition to read, and the sinks that need it.

    targets: each sink with its part description, in which counts and files are still empty.
    limit: rows at most, None for all.
    unreadable: why the partition cannot be read, where its preparation has shown that.
    """

    source: Source
    partition: Partition
    targets: tuple[tuple[Sink, Part], ...]
    on_error: str = "reject"
    max_rejects: int | None = None
    limit: int | None = None
    unreadable: str | None = None


@attrs.frozen(kw_only=True)
class TaskResult:
    """What became of a task: for each sink, the staged part and its directory's name."""

    source: str
    origin: str
    parts: tuple[Part, ...]
    directories: tuple[str, ...]

    def staged(self, sinks: Sequence[Sink]) -> list[Staged]:
        """The parts with their directories; sinks: those of the task."""
        return [
            Staged(part, sink.state / STAGING / name)
            for sink, part, name in zip(sinks, self.parts, self.directories, strict=True)
        ]


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


@attrs.frozen
class Progress:
    """Rows and input bytes that a running task got further."""

    rows: int
    size_bytes: int


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


@contextlib.contextmanager
def source_errors(source: Source, partition: Partition) -> Iterator[None]:
    """What a source raises, as an error of the input or of the plugin."""
    try:
        yield
    except OSError as error:
        if error.errno in _OUT_OF_SPACE:  # scratch space of our own, not the input
            raise
        raise SourceError(
            f"cannot be read: {error.strerror or error}",
            where=printable(error.filename or partition.origin),
            remedy="check that the file exists and may be read",
        ) from error
    except (HarvestError, MemoryError):
        raise
    except Exception as error:
        raise PluginError(
            f"source {source.name!r} failed: {type(error).__name__}: {error}",
            where=printable(partition.origin),
            remedy="report this to the plugin's author (--debug shows the traceback)",
        ) from error


def harvest_partitions(
    tasks: Sequence[Task], report: Callable[[Progress], None] | None = None
) -> tuple[TaskResult, ...]:
    """Read partitions, for the same sinks, one after the other, and stage them for each sink.

    Raises SourceError for the first reject when ``on_error`` is ``fail``; TooManyRejects when one
    of them alone has more than allowed; PluginError when the source breaks its contract; OSError
    when a sink cannot write.
    """
    from .bundling import read_and_stage

    return read_and_stage(tasks, report)


class SourceRejected(HarvestError):
    """A reject met while ``--on-error fail`` is in force."""
