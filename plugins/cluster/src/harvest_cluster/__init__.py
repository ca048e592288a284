"""Engines of harvest for clusters: Slurm jobs, and workers of a Dask cluster.

Work is given to a scheduler in units, so that a million inputs are not as many tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def in_units(
    items: Iterable[T], cost: Callable[[T], int], goal: Callable[[], int]
) -> Iterator[list[T]]:
    """Items in their order, neighbours together until they cost enough.

    goal: what is enough for the unit in hand, asked after each item.
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
