"""Views of waits: of each run that started, and of the days with the longest ones."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader

from .jobs import jobs
from .zone import zone_of


def queue_time(data: DatasetReader, timezone: str | None = None) -> pl.LazyFrame:
    """One row per started run: how long it waited, with the day of its submission."""
    zone = zone_of(data, timezone)
    waited = pl.coalesce("wait_s", "planned_s")
    started = jobs(data).filter(pl.col("start_time").is_not_null() & waited.is_not_null())
    return started.select(
        pl.col("job_id", "restart", "cluster", "name", "user", "account", "partition", "qos"),
        pl.col("req_nodes", "state", "submit_time", "eligible_time", "start_time"),
        zone.local(pl.coalesce("submit_time", "start_time")).dt.date().alias("date"),
        waited.alias("wait_s"),
        pl.col("planned_s", "elapsed_s", "timelimit_s"),
    )


def worst_days(
    data: DatasetReader,
    timezone: str | None = None,
    top: int = 10,
    partition: str | None = None,
    qos: str | None = None,
) -> pl.LazyFrame:
    """Waits per day of submission, the day with the longest mean first."""
    wanted = {"partition": partition, "qos": qos}
    chosen = {name: value for name, value in wanted.items() if value is not None}
    waits = queue_time(data, timezone).filter(**chosen)
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
