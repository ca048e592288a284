"""What an engine gives its workers, and what comes back: both are opaque, and can be pickled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any

import attrs

from harvest.errors import PluginError
from harvest.storage.staging import Staged
from harvest.toolkit.texts import printable

from .bundling import bundles, cost_bytes, harvest_partitions, prepare_tasks
from .meter import Meter, Progress
from .task import Task
from .terms import Terms
from .written import from_document, to_document


@attrs.frozen
class Result:
    """What was staged of a bundle; an engine passes it on."""

    _staged: tuple[tuple[Staged, ...], ...]

    @property
    def staged(self) -> tuple[tuple[Staged, ...], ...]:
        """For each partition, what is staged of it for each of its sinks; for the run alone."""
        return self._staged

    @property
    def origins(self) -> tuple[str, ...]:
        """Where each of its partitions comes from, printable."""
        return tuple(staged[0].part.origin for staged in self._staged)


@attrs.frozen
class Bundle:
    """Partitions that are given out at once, and read in their order.

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
        return Bundle(prepare_tasks(self._tasks), self.terms)

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
        staged = tuple(each for some in together for each in harvest_partitions(some, meter.add))
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
    """Bundles that are made when they are asked for, since there may be very many.

    items: what each is made of; make: makes one.
    """

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
    """What is staged of each partition, by the results that an engine gives.

    Raises PluginError for anything else.
    """
    for result in results:
        if not isinstance(result, Result):
            raise PluginError(
                f"the engine {engine!r} gives {type(result).__name__}, which is not a result",
                remedy="report this to the engine's author: what Bundle.read gives is passed on",
            )
        yield from result.staged
