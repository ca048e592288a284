"""What an engine gives its workers, and what comes back: both are opaque, and can be pickled.

``read_partitions`` is what a worker does: a plain function of picklable tasks, in this process, in
another one, or on another machine that sees the same files.  When it returns, the directories in
staging are complete and describe themselves (``staged``); a directory without a description is
unfinished work, whatever else it holds.
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
"""Input bytes of a partition that is read together with others, at most."""

BUNDLE_BYTES: Final = 4 << 20
"""Input bytes of partitions that are read together, at most."""

BUNDLE_PARTITIONS: Final = 32
"""How many are read together at most: so much is read again when a run is killed."""

OPENING_BYTES: Final = 64 << 10
"""Bytes that are read in the time of a partition's fixed cost, about a millisecond."""

UNKNOWN_BYTES: Final = 64 << 20
"""What a partition of unknown size counts: it may be a large one."""


@attrs.frozen
class Result:
    """What was staged of a bundle; an engine passes it on.

    staged: of each partition for each of its sinks; for the run alone.
    """

    staged: tuple[tuple[Staged, ...], ...]

    @property
    def origins(self) -> tuple[str, ...]:
        """Where each of its partitions comes from, printable."""
        return tuple(staged[0].part.origin for staged in self.staged)


@attrs.frozen
class Bundle:
    """Partitions that are given out together, and read in their order.

    It can be pickled, or written as JSON, and read in any process that sees the same files.
    ``len`` says how many partitions it has.

    terms: what that process must have in common with the run; None for processes of this machine.
    """

    _tasks: tuple[Task, ...]
    terms: Terms | None = None

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def origins(self) -> tuple[str, ...]:
        """Where each of its partitions comes from, printable."""
        return tuple(printable(task.partition.origin) for task in self._tasks)

    @property
    def cost_bytes(self) -> int:
        """Input that is read in the time that all of it takes, to share work out."""
        return sum(cost_bytes(task.partition) for task in self._tasks)

    def split(self, most: int | None = None) -> list[Bundle]:
        """The same in smaller ones, of so many partitions at most.

        most: None for those that are read together anyway, since they are small.
        """
        if most is None:
            parts: Iterable[tuple[Task, ...]] = bundles(self._tasks, attrgetter("sinks"))
        else:
            parts = (self._tasks[at : at + most] for at in range(0, len(self), most))
        return [Bundle(tasks, self.terms) for tasks in parts]

    @staticmethod
    def join(some: Sequence[Bundle]) -> Bundle:
        """Several, at least one, as one; of the same work, in their order."""
        return Bundle(tuple(task for bundle in some for task in bundle._tasks), some[0].terms)

    def prepare(self) -> Bundle:
        """The same, with what one process finds out for all; called in the process of the run.

        In the order of the bundles, once for each: a source may then look at its input once, for
        which every worker would have to look at it from the start.
        Raises PluginError when a source breaks its contract.
        """
        return Bundle(tuple(map(prepare, self._tasks)), self.terms)

    def read(self, report: Callable[[Progress], None] | None = None) -> Result:
        """Read it and stage what it gives, in this process.

        What an earlier attempt has staged is taken as it is; several attempts at a time do no harm.
        report: called a few times a second with how much further it got.
        Raises UsageError where this process does not fulfil the terms, and whatever stops the run
        (SourceError, TooManyRejects, PluginError, OSError): an engine raises it in the run.
        """
        if self.terms is not None:
            self.terms.require()
        meter = Meter(report)
        together = bundles(self._tasks, attrgetter("sinks"))
        staged = tuple(each for some in together for each in read_partitions(some, meter))
        meter.flush()
        return Result(staged)

    def to_json(self) -> dict[str, Any]:
        """As what ``json.dumps`` takes, ASCII: partitions, settings and names, and no code.

        Raises UsageError for sources and sinks that another process could not find by name,
        PluginError for settings or partitions that are not plain values.
        """
        return to_document(self._tasks, self.terms)

    @staticmethod
    def from_json(document: Any) -> Bundle:
        """What ``to_json`` has written, in another process.

        Raises UsageError when this process does not fulfil its terms, or for another format.
        """
        return Bundle(*from_document(document))


class Bundles(Sequence[Bundle]):
    """Bundles that are made when they are asked for, since there may be very many."""

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
    """What is staged of each partition, by the results that an engine gives."""
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
    """Input that is read in the time that a partition takes, to share work out."""
    return OPENING_BYTES + (partition.size_bytes or UNKNOWN_BYTES)


def bundles(todo: Iterable[T], sinks: Callable[[T], Hashable]) -> Iterator[tuple[T, ...]]:
    """What to read in the same order, neighbours together that are small.

    sinks: names the sinks that one is for; only those for the same are taken together.
    It depends on these alone, so that every number of workers makes the same of them.
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
    """The task with its partition prepared; called in the process that plans.

    Raises PluginError when a source breaks its contract.
    """
    interrupt.check()
    try:
        partition = prepare_partition(task.source, task.partition)
    except SourceError as error:
        return attrs.evolve(task, unreadable=error.message)
    return task if partition is task.partition else attrs.evolve(task, partition=partition)


def read_partitions(
    tasks: Sequence[Task], meter: Meter | None = None
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
    with sink_errors(sinks):
        read: list[list[Staged | Small]] = []
        for task in tasks:
            found = [
                each.get(part.stem) for each, (_, part) in zip(there, task.targets, strict=True)
            ]
            whole = [staged for staged in found if staged is not None]
            is_whole = len(whole) == len(found)  # an attempt before has done it for all sinks
            read.append([*whole] if is_whole else read_partition(task, meter or Meter(None)))
        staged = map(_stage, sinks, zip(*read, strict=True))
        return tuple(zip(*staged, strict=True))


def _stage(sink: Sink, read: Sequence[Staged | Small]) -> list[Staged]:
    """What is staged of partitions for one sink, those of few rows together."""
    small = [each for each in read if isinstance(each, Small)]
    together = iter(stage_small(sink.state, small) if small else ())
    return [next(together) if isinstance(each, Small) else each for each in read]
