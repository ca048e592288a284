"""The view ``slurm.trend``: groups of jobs month by month, beside the same month a year before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs
import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import fraction

from .calendar import Period
from .declared.common import TREND_KEYS
from .declared.resources import RESOURCES
from .measures import how_they_ended, use, waits
from .period import selection_of
from .usage import groups_of

MEASURES: Final = (
    *("jobs", "cpu_hours", "cpu_wasted_hours", "cpu_eff", "gpu_hours"),
    *("failed_jobs", "failed_share", "mean_wait_s", "days"),
)
"""What there is of each month and of the one a year before."""


def trend(data: DatasetReader, by: str | Iterable[str] = (), **choice: str | None) -> pl.LazyFrame:
    """A row per month, and group if any; ``year_before_*`` are the same of a year before.

    by: names out of KEYS without the month.  choice: which jobs; see ``period.selection_of``.
    A job of the year before is compared where a year later it would be of the period, and not
    behind the last job: a month that is not over is compared with the same days.
    """
    others = groups_of(by, TREND_KEYS) if by else []
    selection = selection_of(data, choice)
    every = attrs.evolve(selection, period=Period()).jobs(data)
    chosen = selection.of_period(every)
    last = chosen.select(last=pl.col("at").max())
    later = every.with_columns(pl.col("at").dt.offset_by("1y"))
    before = (
        selection.of_period(later).join(last, how="cross").filter(pl.col("at") <= pl.col("last"))
    )
    keys = ["month", *others]
    now, then = (_by_month(rows, keys) for rows in (chosen, before))
    then = then.rename({name: f"year_before_{name}" for name in MEASURES})
    joined = now.join(then, on=keys, how="left", nulls_equal=True)
    change = fraction("cpu_hours", "year_before_cpu_hours") - 1
    return joined.with_columns(cpu_hours_change=change).sort(keys, nulls_last=True)


def _by_month(rows: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    cpu, gpu = (use(resource) for resource in RESOURCES[:2])
    columns = {
        "jobs": pl.len().cast(pl.Int64),
        "days": pl.col("at").drop_nulls().dt.date().n_unique().cast(pl.Int64),
        **{k: v for k, v in (cpu | gpu | how_they_ended() | waits()).items() if k in MEASURES},
    }
    months = rows.with_columns(month=pl.col("at").dt.strftime("%Y-%m"))
    return months.group_by(keys).agg(**columns)
