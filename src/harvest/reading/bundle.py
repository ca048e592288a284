"""Bundles, which an engine gives to its workers, and their results: opaque and picklable.

A worker calls ``read_partitions``, a plain function of picklable tasks. It runs in this process, in
another one, or on another machine that sees the same files. When it returns, the directories in
staging are complete and described (``staged``). A directory without a description is unfinished
work, whatever it contains.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final, Protocol, TypeVar

import attrs

from harvest import interrupt
from harvest.api.sink import Sink
from harvest.api.source import Partition
from harvest.errors import PluginError, SourceError
from harvest.storage.staging import Small, Staged, stage_small, staged_before
from harvest.toolkit.texts import printable

from .reading import prepare_partition, read_partition
from .rows import sink_errors
from .task import Meter, Progress, Task, identify
from .terms import Terms
from .written import from_document, to_document

SMALL_INPUT_BYTES: Final = 1 << 20
"""Maximum input bytes of a partition that is read together with others."""

BUNDLE_BYTES: Final = 4 << 20
"""Maximum input bytes of partitions that are read together."""

BUNDLE_PARTITIONS: Final = 32
"""Maximum number of partitions read together: after a kill, this many are read again."""

OPENING_BYTES: Final = 64 << 10
"""Fixed cost of a partition (about 1 ms), as the bytes that are read in that time."""

UNKNOWN_BYTES: Final = 64 << 20
"""Assumed size of a partition of unknown size: it may be large."""


@attrs.frozen
class Result:
    """The staged parts of a bundle; an engine passes it on unchanged.

    staged: for each partition, its staged part for each sink; only the run uses it.
    """

    staged: tuple[tuple[Staged, ...], ...]

    @property
    def origins(self) -> tuple[str, ...]:
        """Origin of each partition, printable."""
        return tuple(staged[0].part.origin for staged in self.staged)


@attrs.frozen
class Bundle:
    """Partitions that one worker reads together, in order.

    It can be pickled, or written as JSON, and read in any process that sees the same files. ``len``
    returns the number of partitions.

    terms: what the worker's process must have in common with the run; None for processes on this
        machine.
    """

    _tasks: tuple[Task, ...]
    terms: Terms | None = None

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def origins(self) -> tuple[str, ...]:
        """Origin of each partition, printable."""
        return tuple(printable(task.partition.origin) for task in self._tasks)

    @property
    def cost_bytes(self) -> int:
        """Estimated cost of all partitions, in input bytes, for dividing up the work."""
        return sum(cost_bytes(task.partition) for task in self._tasks)

    def split(self, most: int | None = None) -> list[Bundle]:
        """Split into smaller bundles of at most ``most`` partitions.

        most: None splits into single partitions, except small ones, which are read together anyway.
        """
        if most is None:
            parts: Iterable[tuple[Task, ...]] = bundles(self._tasks, attrgetter("sinks"))
        else:
            parts = (self._tasks[at : at + most] for at in range(0, len(self), most))
        return [Bundle(tasks, self.terms) for tasks in parts]

    @staticmethod
    def join(some: Sequence[Bundle]) -> Bundle:
        """Join bundles of one run, at least one, in order."""
        return Bundle(tuple(task for bundle in some for task in bundle._tasks), some[0].terms)

    def prepare(self) -> Bundle:
        """Prepare all partitions in the run's process, so that workers need not repeat shared work.

        Call it once for each bundle, in order: a source may then scan its input once, where every
        worker would have to scan it from the start.
        Raises PluginError when a source breaks its contract.
        """
        return Bundle(tuple(map(prepare, self._tasks)), self.terms)

    def read(self, report: Callable[[Progress], None] | None = None) -> Result:
        """Read all partitions and stage their rows, in this process.

        Parts that an earlier attempt has staged are reused; concurrent attempts are safe.
        report: called a few times a second with the progress since the last call.
        Raises UsageError if this process does not meet the terms. Raises any error that stops the
        run (SourceError, TooManyRejects, PluginError, OSError): an engine raises it in the run.
        """
        if self.terms is not None:
            self.terms.require()
        meter = Meter(report)
        together = bundles(self._tasks, attrgetter("sinks"))
        staged = tuple(each for some in together for each in read_partitions(some, meter))
        meter.flush()
        return Result(staged)

    def to_json(self) -> dict[str, Any]:
        """Convert to ASCII values for ``json.dumps``: partitions, settings and names, but no code.

        Raises UsageError for sources and sinks that another process cannot find by name,
        PluginError for settings or partitions that are not plain values.
        """
        return to_document(self._tasks, self.terms)

    @staticmethod
    def from_json(document: Any) -> Bundle:
        """Build a bundle from the document of ``to_json``, in another process.

        Raises UsageError if this process does not meet the terms, or for another format.
        """
        return Bundle(*from_document(document))


class Bundles(Sequence[Bundle]):
    """A sequence of bundles that are built on access, since there may be very many."""

    def __init__(self, items: Sequence[Any], make: Callable[[Any], Bundle]):
        self._items = items
        self._make = make

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        return self._make(self._items[at])


def staged_of(results: Iterable[Any], engine: str) -> Iterator[tuple[Staged, ...]]:
    """Yield the staged parts of each partition from an engine's results."""
    for result in results:
        if not isinstance(result, Result):
            raise PluginError(
                f"the engine {engine!r} gives {type(result).__name__}, which is not a result",
                remedy="report this to the engine's author: what Bundle.read gives is passed on",
            )
        yield from result.staged


class _Partitioned(Protocol):
    @property
    def partition(self) -> Partition: ...


T = TypeVar("T", bound=_Partitioned)


def cost_bytes(partition: Partition) -> int:
    """Estimate the cost of a partition, in input bytes, for dividing up the work."""
    return OPENING_BYTES + (partition.size_bytes or UNKNOWN_BYTES)


def bundles(todo: Iterable[T], sinks: Callable[[T], Hashable]) -> Iterator[tuple[T, ...]]:
    """Group partitions in order, small neighbours together.

    sinks: returns a hashable key for an item's sinks; only items with equal keys are grouped.
    The result depends only on these arguments, so it is the same for any number of workers.
    """
    together: list[T] = []
    size = 0
    for item in todo:
        partition = item.partition
        small = bool(partition.inputs) and partition.size_bytes <= SMALL_INPUT_BYTES
        room = len(together) < BUNDLE_PARTITIONS and size + partition.size_bytes <= BUNDLE_BYTES
        if together and not (small and room and sinks(item) == sinks(together[-1])):
            yield tuple(together)
            together, size = [], 0
        together.append(item)
        size += partition.size_bytes
        if not small:
            yield tuple(together)
            together, size = [], 0
    if together:
        yield tuple(together)


def prepare(task: Task) -> Task:
    """Prepare the task's partition; called in the process that plans.

    Raises PluginError when a source breaks its contract.
    """
    interrupt.check()
    try:
        partition = prepare_partition(task.source, task.partition)
    except SourceError as error:
        return attrs.evolve(task, unreadable=error.reason)
    return task if partition is task.partition else attrs.evolve(task, partition=partition)


def read_partitions(
    tasks: Sequence[Task], meter: Meter | None = None
) -> tuple[tuple[Staged, ...], ...]:
    """Read partitions for the same sinks, one after the other, and stage them for each sink.

    Returns the staged parts of each task, one for each of its sinks. Parts that an earlier attempt
    has finished are reused, since a lost worker may have done part of the work.
    Raises SourceError for the first reject when ``on_error`` is ``fail``. Raises TooManyRejects
    when one partition has more rejects than allowed. Raises PluginError when the source or a sink
    breaks its contract, and OSError when a sink cannot write.
    """
    tasks = list(map(identify, tasks))
    sinks = [sink for sink, _ in tasks[0].targets]
    stems = zip(*([part.stem for _, part in task.targets] for task in tasks), strict=True)
    there = [staged_before(sink.state, mine) for sink, mine in zip(sinks, stems, strict=True)]
    with sink_errors(sinks):
        read: list[list[Staged | Small]] = []
        for task in tasks:
            found = [
                each.get(part.stem) for each, (_, part) in zip(there, task.targets, strict=True)
            ]
            whole = [staged for staged in found if staged is not None]
            is_whole = len(whole) == len(found)  # an earlier attempt finished it for all sinks
            read.append([*whole] if is_whole else read_partition(task, meter or Meter(None)))
        staged = map(_stage, sinks, zip(*read, strict=True))
        return tuple(zip(*staged, strict=True))


def _stage(sink: Sink, read: Sequence[Staged | Small]) -> list[Staged]:
    """Stage partitions for one sink, those with few rows together; return all of them in order."""
    small = [each for each in read if isinstance(each, Small)]
    together = iter(stage_small(sink.state, small) if small else ())
    return [next(together) if isinstance(each, Small) else each for each in read]
