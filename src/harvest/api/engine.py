"""Engines: where partitions are read."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from .settings import structure
from .sink import Sink
from .source import NoConfig, Source

if TYPE_CHECKING:
    from harvest.pipeline.recipe import Recipe
    from harvest.pipeline.task import Progress, Task
    from harvest.storage.staging import Staged

__all__ = ["Engine", "Work"]


@attrs.frozen(kw_only=True)
class Work:
    """What a run gives an engine to do.

    bundles: the partitions to read, each a task, those that are to be read together in one tuple;
        each is made when it is asked for, since there may be very many.
    partitions: how many there are; sources, sinks: those of the tasks, each once.
    cost_bytes: input that is read in the time that all of it takes, to choose how many workers are
        worth starting.
    read: reads and stages a prepared bundle, in any process that sees the same files; a function
        that can be imported by name.  It is called with the bundle and with a function for
        progress or None, and gives for each task what is staged of it, once for each of its sinks.
        Bundles and results can be pickled.
    prepare: makes a bundle ready for that; see ``prepared``.
    on_progress: called in this process with what a running task reports.
    recipe: what the run was asked to do, from which another process can do it again.
    """

    bundles: Sequence[tuple[Task, ...]]
    partitions: int
    sources: Sequence[Source]
    sinks: Sequence[Sink]
    cost_bytes: int
    read: Callable[
        [Sequence[Task], Callable[[Progress], None] | None],
        tuple[tuple[Staged, ...], ...],
    ]
    prepare: Callable[[tuple[Task, ...]], tuple[Task, ...]]
    on_progress: Callable[[Progress], None] | None = None
    recipe: Recipe

    @property
    def tasks(self) -> list[Task]:
        """The tasks of all bundles, each made anew."""
        return [task for bundle in self.bundles for task in bundle]

    @property
    def size_bytes(self) -> int:
        """Of all inputs together."""
        return sum(task.partition.size_bytes for task in self.tasks)

    def prepared(self) -> Iterator[tuple[Task, ...]]:
        """The bundles in their order, each prepared in this process when it is asked for."""
        return map(self.prepare, self.bundles)


class Engine(abc.ABC):
    """Has the partitions of a run read, in this process or by workers elsewhere.

    name: what users type after ``--engine``, and before a setting of it.
    Config: attrs class of its settings; each field's metadata key ``doc`` documents it.
    workers: how many at once; None for as many as make sense.

    Raises ConfigError for a setting that is unknown or does not fit.
    """

    name: ClassVar[str]
    Config: ClassVar[type] = NoConfig

    def __init__(self, workers: int | None = None, **settings: Any):
        self.workers = workers
        self.config: Any = structure(self.Config, settings, plugin=self.name)

    @abc.abstractmethod
    def run(self, work: Work) -> Iterator[tuple[tuple[Staged, ...], ...]]:
        """What ``work.read`` gives for the bundles, or parts of it, as they are done.

        A bundle may be attempted again when its worker is lost, even while the lost one lives on.
        When the iterator is closed early, what is not yet begun is dropped and what runs is
        stopped, where the engine has it in its hands.  Raises HarvestError when workers are lost
        for good.
        """

    def scripts(self, work: Work) -> Sequence[str]:
        """What ``run`` would submit to a batch system, as text; nothing is written.

        Engines that submit nothing have none.
        """
        return ()
