"""Engines of harvest for clusters: Slurm jobs, and workers of a Dask cluster.

A scheduler receives work in units, so that a million inputs do not become a million tasks.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def in_units(
    items: Iterable[T], cost: Callable[[T], int], goal: Callable[[], int]
) -> Iterator[list[T]]:
    """Group items in order, neighbours together until their cost reaches the goal.

    goal: returns the cost for the current unit; called after each item.
    """
    unit: list[T] = []
    filled = 0
    for item in items:
        unit.append(item)
        filled += cost(item)
        if filled >= goal():
            yield unit
            unit, filled = [], 0
    if unit:
        yield unit
