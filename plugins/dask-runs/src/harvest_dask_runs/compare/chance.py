"""How often as large a difference comes about by chance: Mann and Whitney's test of ranks.

Nothing is assumed of how values are distributed.  Of up to ``EXACT`` values the chance is counted
over all ways to part them, equal values included; of more it is the normal approximation.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from typing import Final

import polars as pl

__all__ = ["EXACT", "chance_of"]

EXACT: Final = 20


def chance_of(before: pl.Series, after: pl.Series) -> tuple[float, float] | None:
    """The share of pairs in which the value of after is larger, and the chance (two-sided).

    Equal pairs count half.  None where one side has no value.
    """
    first, second = len(before), len(after)
    if not first or not second:
        return None
    # twice the rank is whole, also where values are equal
    ranks = (pl.concat([before, after]).rank("average") * 2).cast(pl.Int64)
    total = first + second
    of_after = int(ranks.tail(second).sum())
    above = of_after / 2 - second * (second + 1) / 2
    middle = second * (total + 1)
    away = abs(of_after - middle)
    if total <= EXACT:
        chance = _counted(ranks.to_list(), second, middle, away)
    else:
        ties = ranks.value_counts()["count"].cast(pl.Float64)
        spread = first * second / 12 * (total + 1 - (ties**3 - ties).sum() / (total * (total - 1)))
        # sums of ranks are whole: half a step nearer
        nearer = max(away - 1, 0) / 2
        chance = math.erfc(nearer / math.sqrt(2 * spread)) if spread > 0 else 1.0
    return above / (first * second), chance


def _counted(ranks: list[int], chosen: int, middle: int, away: int) -> float:
    """Of all ways to choose so many ranks, the share whose sum is as far from the middle."""
    sums = _sums(tuple(sorted(ranks)), chosen)
    far = sum(count for reached, count in sums.items() if abs(reached - middle) >= away)
    return far / math.comb(len(ranks), chosen)


@functools.cache  # of as many runs the ranks are mostly the same, whatever is measured
def _sums(ranks: tuple[int, ...], chosen: int) -> Counter[int]:
    """In how many ways so many of the ranks have each sum."""
    ways: list[Counter[int]] = [Counter() for _ in range(chosen + 1)]
    ways[0][0] = 1
    for rank in ranks:
        for size in range(chosen, 0, -1):
            for reached, count in ways[size - 1].items():
                ways[size][reached + rank] += count
    return ways[chosen]
