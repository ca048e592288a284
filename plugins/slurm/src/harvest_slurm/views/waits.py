"""Views of waits: of each run that started, and of the days with the longest ones."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader

from .period import WAITED_AT, selection_of


def queue_time(data: DatasetReader, **choice: str | None) -> pl.LazyFrame:
    """One row per started run: how long it waited, with the day of its submission.

    A wait is of the period that it began in.  choice: which jobs; see ``period.selection_of``.
    """
    waited = pl.coalesce("wait_s", "planned_s")
    chosen = selection_of(data, choice, WAITED_AT).jobs(data, WAITED_AT)
    started = chosen.filter(pl.col("start_time").is_not_null() & waited.is_not_null())
    return started.select(
        pl.col("job_id", "restart", "cluster", "name", "user", "account", "partition", "qos"),
        pl.col("req_nodes", "state", "submit_time", "eligible_time", "start_time"),
        pl.col("at").dt.date().alias("date"),
        waited.alias("wait_s"),
        pl.col("planned_s", "elapsed_s", "timelimit_s"),
    )


def worst_days(data: DatasetReader, top: int = 10, **choice: str | None) -> pl.LazyFrame:
    """Waits per day of submission, the day with the longest mean first."""
    waits = queue_time(data, **choice)
    wait = pl.col("wait_s")
    by_day = waits.group_by("date").agg(
        jobs=pl.len().cast(pl.Int64),
        mean_wait_s=wait.mean(),
        median_wait_s=wait.median(),
        max_wait_s=wait.max(),
        total_wait_s=wait.sum(),
    )
    worst_first = by_day.sort("mean_wait_s", "date", descending=[True, False])
    return worst_first.head(top) if top > 0 else worst_first
