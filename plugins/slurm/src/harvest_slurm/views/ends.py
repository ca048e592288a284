"""The views ``slurm.ends`` and ``slurm.failures``: how runs ended, and whose they are."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader

from ..states import ENDED
from .measures import amount_of, count_of
from .period import selection_of


def ends(data: DatasetReader, **choice: str | None) -> pl.LazyFrame:
    """All runs by state, exit code and signal, and user.

    ``ended_jobs`` and ``ended_cpu_hours`` are those of all runs of which it is known how they
    ended.  choice: which runs; see ``period.selection_of``.
    """
    chosen = selection_of(data, choice).jobs(data)
    hours, in_the_end = pl.col("cpu_time_s") / 3600, pl.col("state").is_in(ENDED)
    repeated = pl.col("run_again")
    by = ["cluster", "state", "exit_code", "exit_signal", "user"]
    order = ["jobs", *by]
    return (
        chosen.with_columns(
            ended_jobs=count_of(in_the_end), ended_cpu_hours=amount_of(hours, in_the_end)
        )
        .group_by(by)
        .agg(
            ended=pl.when(pl.col("ended").is_not_null().all()).then(pl.col("ended").any()),
            jobs=pl.len().cast(pl.Int64),
            run_again=pl.when(repeated.is_not_null().all()).then(repeated.sum()).cast(pl.Int64),
            cpu_hours=amount_of(hours, pl.lit(value=True)),
            cpu_unknown_jobs=hours.is_null().sum().cast(pl.Int64),
            median_run_s=pl.col("elapsed_s").median(),
            last_job=pl.col("job_id").sort_by("at").last(),
            ended_jobs=pl.col("ended_jobs").first(),
            ended_cpu_hours=pl.col("ended_cpu_hours").first(),
        )
        .sort(order, descending=[name == "jobs" for name in order], nulls_last=True)
    )


def failures(data: DatasetReader, **choice: str | None) -> pl.LazyFrame:
    """The rows of ``ends`` of runs that did not complete, or of which that is not known."""
    state = pl.col("state")
    wanted = (state.is_in(ENDED) & (state != "completed")) | state.is_null()
    return ends(data, **choice).filter(wanted).drop("ended")
