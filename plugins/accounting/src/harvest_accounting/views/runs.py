"""The views with one row per run, ``jobs`` and ``efficiency``, and waits by day."""

import polars as pl

from harvest_toolkit.frames import fraction

from ..job_runs import MORE, Jobs
from ..period import WAITED_AT, selection_of


def jobs(data: Jobs, **choice: str | None) -> pl.LazyFrame:
    """Return the rows of ``jobs``; choice: see ``period.selection_of``."""
    others = (name for name in MORE if name not in data.whose.fills)
    chosen = selection_of(data, choice).jobs(data).drop("at", "again", "run_again")
    return chosen.drop(*others, strict=False)


def efficiency(data: Jobs, **choice: str | None) -> pl.LazyFrame:
    """Return the share of its allocation that each job used; null if a part was not measured.

    ``cpu_eff`` = CPU seconds of all steps / those allocated (elapsed × CPUs); ``mem_eff`` = peak
    memory of a step / memory allocated; ``gpu_eff`` = utilisation of GPUs / (100 % × GPUs);
    ``timelimit_eff`` = elapsed time / time limit. choice: the jobs; see ``period.selection_of``.
    """
    return jobs(data, **choice).select(
        pl.col("job_id", "submit_time", "restart", *data.by, "cluster"),
        pl.col("name", "user", "account", "partition", "qos", "state"),
        pl.col("elapsed_s", "alloc_cpus", "cpu_s"),
        fraction("cpu_s", "cpu_time_s").alias("cpu_eff"),
        pl.col("alloc_mem_bytes", "mem_used_bytes"),
        fraction("mem_used_bytes", "alloc_mem_bytes").alias("mem_eff"),
        pl.col("alloc_gpus"),
        fraction("gpu_util_percent", pl.col("alloc_gpus") * 100).alias("gpu_eff"),
        pl.col("timelimit_s"),
        fraction("elapsed_s", "timelimit_s").alias("timelimit_eff"),
        (pl.col("cpu_time_s") / 3600).alias("cpu_hours"),
        (pl.col("elapsed_s") * pl.col("alloc_gpus") / 3600).alias("gpu_hours"),
        pl.col("start_time", "end_time"),
    )


def queue_time(data: Jobs, **choice: str | None) -> pl.LazyFrame:
    """Return one row per started run: its wait, with the day of its submission.

    A wait counts in the period in which it began. choice: the jobs; see ``period.selection_of``.
    """
    waited = pl.coalesce("wait_s", "planned_s")
    chosen = selection_of(data, choice, WAITED_AT).jobs(data, WAITED_AT)
    started = chosen.filter(pl.col("start_time").is_not_null() & waited.is_not_null())
    return started.select(
        pl.col("job_id", "restart", *data.by, "cluster", "name", "user", "account", "partition"),
        pl.col("qos", "req_nodes", "state", "submit_time", "eligible_time", "start_time"),
        pl.col("at").dt.date().alias("date"),
        waited.alias("wait_s"),
        pl.col("planned_s", "elapsed_s", "timelimit_s"),
    )


def worst_days(data: Jobs, top: int = 10, **choice: str | None) -> pl.LazyFrame:
    """Return the waits per day of submission, the day with the longest mean first."""
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
