"""Engines: where partitions run."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar

from .settings import structure
from .source import NoConfig

__all__ = ["Engine", "unchanged"]

T = TypeVar("T")
R = TypeVar("R")


def unchanged(task: T) -> T:
    """The preparation of a task that needs none."""
    return task


class Engine(abc.ABC):
    """Runs a picklable function over partitions and gives results as they are done.

    name: what users type after ``--engine``, and before a setting of it.
    Config: attrs class of its settings; each field's metadata key ``doc`` documents it.
    workers: how many at once; None for as many as make sense.
    recipe: the ``Recipe`` of the run that it works for, set by the run; None without one.

    Raises ConfigError for a setting that is unknown or does not fit.
    """

    name: ClassVar[str]
    Config: ClassVar[type] = NoConfig

    def __init__(self, workers: int | None = None, **settings: Any):
        self.workers = workers
        self.config: Any = structure(self.Config, settings, plugin=self.name)
        self.recipe: Any = None

    @abc.abstractmethod
    def map(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        *,
        prepare: Callable[[T], T] = unchanged,
        size_bytes: int = 0,
        on_progress: Callable[[Any], None] | None = None,
    ) -> Iterator[R]:
        """Results in the order in which they are done.

        prepare: makes a task ready to be sent; called in this process, in the order of the tasks,
            once for each, before it is given out.
        size_bytes: of all inputs together, to choose how many workers are worth starting.
        on_progress: called in this process with what a running task reports.

        A task may be attempted again when its worker is lost, even while the lost one lives on.
        When the iterator is closed early, tasks not yet begun are dropped and running ones
        stopped, where the engine has them in its hands.  Raises HarvestError when workers are
        lost for good.
        """

    def scripts(self, tasks: Sequence[Any]) -> Sequence[str]:
        """What ``map`` would submit to a batch system, as text; nothing is written.

        Engines that submit nothing have none.
        """
        return ()
