"""The view ``slurm.arrays``."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader

from ..states import ENDED, FAILED
from .declared.resources import RESOURCES
from .measures import count_of, use
from .period import selection_of


def arrays(data: DatasetReader, **choice: str | None) -> pl.LazyFrame:
    """Job arrays: how many tasks, how they ended, how long they ran, what they used.

    Tasks count by their last run, and run times are those of tasks that ended; hours are those of
    all runs.  choice: which runs; see ``period.selection_of``.
    """
    runs = selection_of(data, choice).jobs(data)
    tasks = runs.filter(pl.col("array_job_id").is_not_null())
    last, state = ~pl.col("again"), pl.col("state")
    ran = pl.col("elapsed_s").filter(last & pl.col("ended") & (pl.col("elapsed_s") > 0))
    columns = {
        "submit_time": pl.col("submit_time").min(),
        "tasks": pl.when(last.is_not_null().all()).then(last.sum()).cast(pl.Int64),
        "ended": count_of(last & state.is_in(ENDED)),
        "completed": count_of(last & (state == "completed")),
        "failed": count_of(last & state.is_in(FAILED)),
        "median_run_s": ran.median(),
        "max_run_s": ran.max(),
    }
    for resource in RESOURCES:
        columns |= use(resource)
    grouped = tasks.group_by("cluster", "array_job_id").agg(
        pl.col("user", "account", "partition", "qos", "name").first(), **columns
    )
    order = ["tasks", "cluster", "array_job_id"]
    return grouped.sort(order, descending=[True, False, False], nulls_last=True)
