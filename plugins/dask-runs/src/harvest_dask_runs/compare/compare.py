"""The view ``dask.compare``: the numbers of two sides, and how sure their differences are.

Several runs are compared by their spread, one run each by its tasks.  Mann and Whitney's test of
ranks gives the probability of as large a difference by chance.  It assumes no distribution of the
values.  For up to ``EXACT`` values the probability is counted over all ways to divide them, equal
values included; for more it is the normal approximation.
"""

import functools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import attrs
import polars as pl

from harvest import DatasetReader
from harvest.model.frames import types_of
from harvest_toolkit.frames import deferred, first_text, fraction

from .numbers import ORDER, PARTS, REPORTED, Numbers, numbers_of, phases_of, unit_of, workers_of
from .plugin import COLUMNS
from .sides import Sides, runs_of, sides_of

NAME: Final = ["part", "name"]
ONE: Final = [*NAME, "measure"]
SIDES: Final = ("before", "after")
NEARLY: Final = 1e-9
"""Relative difference below which numbers are equal: sums of floats depend on their order."""
SHAPE: Final = types_of(COLUMNS)


@attrs.frozen(eq=False)
class Comparison:
    """Two sides and their numbers.

    rows: columns of the view; equal numbers are included, with a difference of 0.
    """

    before: list[Numbers]
    after: list[Numbers]
    rows: pl.DataFrame

    def differing(self) -> pl.DataFrame:
        """Return the rows that differ, or are known of only one side."""
        return self.rows.filter((pl.col("difference") != 0).fill_null(value=True))


def compare(dataset: DatasetReader, *, equal: bool = False, **sides: Any) -> pl.LazyFrame:
    """Compute the view for the runs that the settings of ``sides_of`` name.

    equal: include numbers that do not differ.
    """

    def compute() -> pl.DataFrame:
        if not any(sides.values()) and not runs_of(dataset):
            return pl.DataFrame(schema=SHAPE)
        found = compared(sides_of(dataset, **sides))
        return found.rows if equal else found.differing()

    return deferred(compute, SHAPE)


def compared(sides: Sides) -> Comparison:
    """Compare both sides; a run that is on both is read once."""
    read = {run: numbers_of(run) for run in dict.fromkeys([*sides[0], *sides[1]])}
    before, after = ([read[run] for run in side] for side in sides)
    return Comparison(before, after, _rows(before, after))


def _rows(before: list[Numbers], after: list[Numbers]) -> pl.DataFrame:
    runs = [*before, *after]
    parts = zip(runs, phases_of(runs), workers_of(runs), strict=True)
    given = [pl.concat([run.rows, phases, workers]) for run, phases, workers in parts]
    names = pl.concat(given).select(NAME).unique(maintain_order=True).with_row_index("place")
    of_before, in_before = _side("before", before, given[: len(before)], names)
    of_after, in_after = _side("after", after, given[len(before) :], names)
    presence = first_text(
        (pl.col("in_before") & pl.col("in_after"), "both"),
        (pl.col("in_after") & pl.col("whole_before"), "new"),
        (pl.col("in_before") & pl.col("whole_after"), "gone"),
        (pl.col("in_after"), "not seen before"),
        (pl.col("in_before"), "not seen after"),
    )
    there = names.join(in_before, on=NAME).join(in_after, on=NAME)
    names = there.select(*NAME, "place", presence=presence)
    difference = pl.col("after") - pl.col("before")
    least = NEARLY * pl.max_horizontal(pl.col("before", "after").abs())
    rows = (
        of_before.join(of_after, on=ONE, how="full", coalesce=True)
        .join(names, on=NAME)
        .with_columns(
            pl.col("before_runs", "after_runs").fill_null(0),
            difference=pl.when(difference.abs() <= least).then(0.0).otherwise(difference),
            ratio=fraction("after", "before"),
            unit=unit_of("measure"),
        )
    )
    weight = pl.col("difference").abs().filter(pl.col("measure") == "total_s").first().over(NAME)
    return (
        rows.hstack(certainties(rows, before, after))
        .sort(
            pl.col("part").replace_strict([*PARTS], range(len(PARTS))),
            pl.when(part="prefix").then(-weight),
            "place",
            pl.format("{} {}", "part", "measure").replace_strict(ORDER, range(len(ORDER))),
            nulls_last=True,
        )
        .select(pl.col(name).cast(kind) for name, kind in SHAPE.items())
    )


def _side(
    side: str, runs: Sequence[Numbers], given: Sequence[pl.DataFrame], names: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compute the numbers of a side, and for each name whether a run has it, or certainly none."""
    absent = [
        names.join(rows, on=NAME, how="anti").join(run.zeros(), on="part").select(rows.columns)
        for run, rows in zip(runs, given, strict=True)
    ]
    value = pl.col("value")
    numbers = (
        pl.concat([*given, *absent])
        .group_by(ONE)
        .agg(
            value.mean().alias(side),
            value.min().alias(f"{side}_low"),
            value.max().alias(f"{side}_high"),
            value.len().cast(pl.Int64).alias(f"{side}_runs"),
            value.alias(f"{side}_values"),
        )
    )
    there = pl.concat(given).select(*NAME, pl.lit(value=True).alias(f"in_{side}")).unique()
    certain = [part for part in PARTS if all(run.absent.get(part) for run in runs)]
    whole = pl.col("part").is_in(certain).alias(f"whole_{side}")
    return numbers, names.select(*NAME, whole).join(there, on=NAME, how="left")


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
        sums = _sums(tuple(ranks.sort()), second)
        far = sum(count for reached, count in sums.items() if abs(reached - middle) >= away)
        chance = far / math.comb(total, second)
    else:
        ties = ranks.value_counts()["count"].cast(pl.Float64)
        spread = first * second / 12 * (total + 1 - (ties**3 - ties).sum() / (total * (total - 1)))
        # sums of ranks are whole: half a step nearer
        nearer = max(away - 1, 0) / 2
        chance = math.erfc(nearer / math.sqrt(2 * spread)) if spread > 0 else 1.0
    return above / (first * second), chance


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


CERTAINTY: Final = {"sure": pl.String(), "chance_share": pl.Float64(), "pairs_share": pl.Float64()}
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
