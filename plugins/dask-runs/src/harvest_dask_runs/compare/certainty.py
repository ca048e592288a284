"""How sure differences are: by the spread of several runs, or by the tasks of one run each.

Mann and Whitney's test of ranks gives the probability of as large a difference by chance.  It
assumes no distribution of the values.  For up to ``EXACT`` values the probability is counted over
all ways to divide them, equal values included; for more it is the normal approximation.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from .numbers import REPORTED, Numbers

EXACT: Final = 20


def chance_of(before: pl.Series, after: pl.Series) -> tuple[float, float] | None:
    """Return the share of pairs in which ``after`` has the larger value, and the p-value.

    The test is two-sided.  Equal pairs count half.  None if one side has no value.
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
    """Count the share of all choices of ranks whose sum is at least as far from the middle."""
    sums = _sums(tuple(sorted(ranks)), chosen)
    far = sum(count for reached, count in sums.items() if abs(reached - middle) >= away)
    return far / math.comb(len(ranks), chosen)


@functools.cache  # for one number of runs, most measures have the same ranks
def _sums(ranks: tuple[int, ...], chosen: int) -> Counter[int]:
    """Count the ways in which a choice of the ranks has each sum."""
    ways: list[Counter[int]] = [Counter() for _ in range(chosen + 1)]
    ways[0][0] = 1
    for rank in ranks:
        for size in range(chosen, 0, -1):
            for reached, count in ways[size - 1].items():
                ways[size][reached + rank] += count
    return ways[chosen]


CERTAINTY: Final = {
    "sure": pl.String(),
    "chance_share": pl.Float64(),
    "pairs_share": pl.Float64(),
}
OF_TASKS: Final = ("mean_s", "median_s")
"""The measures of how long one task of a kind takes."""
NONE: Final = pl.Series(dtype=pl.Float64)
SURE: Final = 0.01
"""Largest p-value for which the tasks of two runs are apart."""


def certainties(
    rows: pl.DataFrame, before: Sequence[Numbers], after: Sequence[Numbers]
) -> pl.DataFrame:
    """Compute sure, chance_share and pairs_share of each row, as the view explains them.

    rows: with the columns of the view, and all values of each side.
    """
    silent = any(run.known["silent_workers"] for run in (*before, *after))
    first, second = (_durations(side) for side in (before, after))
    found: list[tuple[Any, ...]] = []
    for row in rows.iter_rows(named=True):
        name = row["name"]
        if not row["difference"]:
            found.append((None, None, None))
        elif silent and row["measure"] in REPORTED:
            found.append(("in part", None, None))
        elif row["before_runs"] + row["after_runs"] > 2:
            apart = row["before_high"] < row["after_low"] or row["after_high"] < row["before_low"]
            tested = chance_of(pl.Series(row["before_values"]), pl.Series(row["after_values"]))
            found.append(("runs apart" if apart else "runs overlap", tested and tested[1], None))
        elif (
            row["part"] == "prefix"
            and row["measure"] in OF_TASKS
            and (tested := chance_of(first.get(name, NONE), second.get(name, NONE)))
        ):
            pairs, chance = tested
            found.append(("tasks apart" if chance <= SURE else "tasks overlap", chance, pairs))
        else:
            found.append(("one run each", None, None))
    return pl.DataFrame(found, CERTAINTY, orient="row")


def _durations(side: Sequence[Numbers]) -> dict[str, pl.Series]:
    """Collect the durations of tasks of each kind; none for several runs, which are compared."""
    if len(side) > 1:
        return {}
    by_prefix = side[0].tasks.drop_nulls("seconds").partition_by("prefix", as_dict=True)
    return {str(prefix): tasks["seconds"] for (prefix,), tasks in by_prefix.items()}
