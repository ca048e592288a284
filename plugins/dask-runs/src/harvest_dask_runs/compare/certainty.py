"""How sure differences are: by the spread of several runs, or by the tasks of one run each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from .chance import chance_of
from .measures import REPORTED
from .numbers import Numbers

__all__ = ["CERTAINTY", "certainties"]

CERTAINTY: Final = {
    "sure": pl.String(),
    "chance_share": pl.Float64(),
    "pairs_share": pl.Float64(),
}
OF_TASKS: Final = ("mean_s", "median_s")
"""What says of a kind of tasks how long one of them takes."""
SURE: Final = 0.01
"""Up to this chance, the tasks of two runs are apart."""


def certainties(
    rows: pl.DataFrame, before: Sequence[Numbers], after: Sequence[Numbers]
) -> pl.DataFrame:
    """Of each row: sure, chance_share and pairs_share, as the view explains them.

    rows: with the columns of the view, and all values of each side.
    """
    single = len(before) == len(after) == 1
    silent = any(run.known["silent_workers"] for run in (*before, *after))
    first, second = (_durations(side[0]) if single else {} for side in (before, after))
    found: list[tuple[Any, ...]] = []
    for row in rows.iter_rows(named=True):
        name = row["name"]
        if not row["difference"]:
            found.append((None, None, None))
        elif silent and row["measure"] in REPORTED:
            found.append(("in part", None, None))
        elif row["before_runs"] + row["after_runs"] > 2:
            found.append(_of_runs(row))
        elif row["part"] == "prefix" and row["measure"] in OF_TASKS and name in first:
            found.append(_of_tasks(first[name], second.get(name, pl.Series(dtype=pl.Float64))))
        else:
            found.append(("one run each", None, None))
    return pl.DataFrame(found, CERTAINTY, orient="row")


def _durations(run: Numbers) -> dict[str, pl.Series]:
    by_prefix = run.tasks.drop_nulls("seconds").partition_by("prefix", as_dict=True)
    return {str(prefix): tasks["seconds"] for (prefix,), tasks in by_prefix.items()}


def _of_runs(row: dict[str, Any]) -> tuple[str, float | None, None]:
    apart = row["before_high"] < row["after_low"] or row["after_high"] < row["before_low"]
    found = chance_of(pl.Series(row["before_values"]), pl.Series(row["after_values"]))
    return ("runs apart" if apart else "runs overlap", found and found[1], None)


def _of_tasks(before: pl.Series, after: pl.Series) -> tuple[str, float | None, float | None]:
    found = chance_of(before, after)
    if found is None:
        return ("one run each", None, None)
    pairs, chance = found
    return ("tasks apart" if chance <= SURE else "tasks overlap", chance, pairs)
