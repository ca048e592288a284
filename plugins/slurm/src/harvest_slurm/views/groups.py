"""Views that sum runs up: ``slurm.usage``, ``slurm.ends``, ``slurm.failures``, ``slurm.arrays``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from harvest import DatasetReader, UsageError

from ..states import ENDED, FAILED
from .declared.common import KEYS, RESOURCES
from .measures import (
    COUNTS,
    costs,
    count_of,
    counted,
    hours_of,
    how_they_ended,
    shares,
    unknown_cpu_hours,
    use,
    waits,
    why_they_failed,
)
from .period import selection_of
from .why import why_failed


def usage(
    data: DatasetReader,
    by: str | Iterable[str] = ("user",),
    cpu_hour_cost: float | None = None,
    gpu_hour_cost: float | None = None,
    **choice: str | None,
) -> pl.LazyFrame:
    """What groups of jobs were given, used and wasted, how they ended and waited, why they failed.

    by: names out of KEYS.  choice: which jobs; see ``period.selection_of``.
    Most wasted CPU hours come first, within each month or day where there are some.
    """
    names = groups_of(by)
    chosen = why_failed(data, selection_of(data, choice, None).parts(data, names))
    columns = counted()
    for resource in RESOURCES:
        columns |= use(resource)
    columns |= how_they_ended() | why_they_failed() | waits()
    summed = chosen.group_by(names).agg(**columns)
    for resource in RESOURCES:
        summed = summed.with_columns(**shares(resource))
    summed = summed.with_columns(**costs(cpu_hour_cost, gpu_hour_cost))
    times = [name for name in names if name in ("month", "day")]
    most_first = ["cpu_wasted_hours", "cpu_hours", "jobs"]
    order = [*times, *most_first, *(name for name in names if name not in times)]
    return summed.sort(order, descending=[name in most_first for name in order], nulls_last=True)


def groups_of(by: str | Iterable[str], keys: Sequence[str] = KEYS) -> list[str]:
    """The columns that a setting ``by`` names; raises UsageError for a wrong one."""
    names = [n.strip() for n in by.split(",")] if isinstance(by, str) else list(by)
    if not names or not set(names) <= set(keys) or len(set(names)) < len(names):
        raise UsageError(
            f"by={','.join(names)!r} does not name what jobs can be grouped by",
            remedy=f"write one or several of {', '.join(keys)}, with commas, each once",
        )
    return names


def ends(data: DatasetReader, **choice: str | None) -> pl.LazyFrame:
    """All runs by state, exit code and signal, and user.

    ``ended_jobs`` and ``ended_cpu_hours`` are those of all runs of which it is known how they
    ended.  choice: which runs; see ``period.selection_of``.
    """
    chosen = selection_of(data, choice, None).parts(data)
    given, in_the_end = pl.col("cpu_time_s"), pl.col("state").is_in(ENDED)
    repeated, job = pl.col("run_again").filter(COUNTS), pl.col("job_id").filter(COUNTS)
    by = ["cluster", "state", "exit_code", "exit_signal", "user"]
    order = ["jobs", *by]
    return (
        chosen.with_columns(
            ended_jobs=count_of(in_the_end), ended_cpu_hours=hours_of(given, in_the_end)
        )
        .group_by(by)
        .agg(
            ended=pl.when(pl.col("ended").is_not_null().all()).then(pl.col("ended").any()),
            jobs=COUNTS.sum().cast(pl.Int64),
            run_again=pl.when(repeated.is_not_null().all()).then(repeated.sum()).cast(pl.Int64),
            cpu_hours=hours_of(given, pl.lit(value=True)),
            cpu_unknown_jobs=unknown_cpu_hours(),
            median_run_s=pl.col("elapsed_s").filter(COUNTS).median(),
            last_job=job.sort_by(pl.col("at").filter(COUNTS)).last(),
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


def arrays(data: DatasetReader, **choice: str | None) -> pl.LazyFrame:
    """Job arrays: how many tasks, how they ended, how long they ran, what they used.

    Tasks count by their last run, and run times are those of tasks that ended; hours are those of
    all runs.  choice: which runs; see ``period.selection_of``.
    """
    runs = selection_of(data, choice, None).parts(data)
    tasks = runs.filter(pl.col("array_job_id").is_not_null())
    last, state = ~pl.col("again"), pl.col("state")
    ran = pl.col("elapsed_s").filter(COUNTS & last & pl.col("ended") & (pl.col("elapsed_s") > 0))
    known = (last.is_not_null() | ~COUNTS).all()
    columns = {
        "submit_time": pl.col("submit_time").min(),
        "tasks": pl.when(known).then((last & COUNTS).sum()).cast(pl.Int64),
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
