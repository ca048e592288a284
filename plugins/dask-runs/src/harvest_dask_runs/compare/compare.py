"""The view ``dask.compare``: the numbers of two sides, and how sure their differences are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs
import polars as pl

from harvest import DatasetReader
from harvest.model.frames import types_of
from harvest_toolkit.deferred import deferred
from harvest_toolkit.frames import first_text, fraction

from .certainty import certainties
from .numbers import ORDER, PARTS, Numbers, numbers_of, phases_of, unit_of, workers_of
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
    names = (
        names.join(in_before, on=NAME)
        .join(in_after, on=NAME)
        .select(*NAME, "place", presence=_presence())
    )
    difference = pl.col("after") - pl.col("before")
    least = NEARLY * pl.max_horizontal(pl.col("before", "after").abs())
    rows = (
        of_before.join(of_after, on=ONE, how="full", coalesce=True)
        .join(names, on=NAME)
        .with_columns(
            pl.col("before_runs", "after_runs").fill_null(0),
            difference=pl.when(difference.abs() > least)
            .then(difference)
            .when(difference.is_not_null())
            .then(0.0),
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
    there = (
        pl.concat(given).select(NAME).unique().with_columns(pl.lit(value=True).alias(f"in_{side}"))
    )
    certain = [part for part in PARTS if all(run.absent.get(part) for run in runs)]
    whole = pl.col("part").is_in(certain).alias(f"whole_{side}")
    return numbers, names.select(*NAME, whole).join(there, on=NAME, how="left")


def _presence() -> pl.Expr:
    return first_text(
        (pl.col("in_before") & pl.col("in_after"), "both"),
        (pl.col("in_after") & pl.col("whole_before"), "new"),
        (pl.col("in_before") & pl.col("whole_after"), "gone"),
        (pl.col("in_after"), "not seen before"),
        (pl.col("in_before"), "not seen after"),
    )
