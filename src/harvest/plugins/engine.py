"""Engines: where partitions run."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

__all__ = ["Engine"]

T = TypeVar("T")
R = TypeVar("R")


class Engine(abc.ABC):
    """Runs a picklable function over partitions and gives results as they are done.

    workers: how many at once; None for as many as make sense.
    """

    def __init__(self, workers: int | None = None, **options: Any):
        self.workers = workers
        self.options = options

    @abc.abstractmethod
    def map(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        *,
        size_bytes: int = 0,
        on_progress: Callable[[Any], None] | None = None,
    ) -> Iterator[R]:
        """Results in the order in which they are done.

        size_bytes: of all inputs together, to choose how many workers are worth starting.
        on_progress: called in this process with what a running task reports.

        When the iterator is closed early, tasks not yet begun are dropped and running ones
        stopped.  Raises HarvestError when workers are lost.
        """
