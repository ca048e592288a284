"""Views that sum jobs up: what groups used and wasted, why runs failed, how arrays went."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import polars as pl

from harvest import DatasetReader, UsageError

from .ends import ENDED, FAILED
from .measures import (
    RESOURCES,
    amount_of,
    count_of,
    how_they_ended,
    shares,
    started,
    use,
    waits,
)
from .period import selection_of

__all__ = ["KEYS", "arrays", "ends", "failures", "groups_of", "usage"]

KEYS: Final = ("month", "cluster", "account", "user", "partition", "qos")
"""What jobs may be grouped by."""


def usage(
    data: DatasetReader,
    by: str | Iterable[str] = ("user",),
    since: str | None = None,
    until: str | None = None,
    month: str | None = None,
    user: str | None = None,
    account: str | None = None,
    cluster: str | None = None,
    partition: str | None = None,
    qos: str | None = None,
    timezone: str | None = None,
) -> pl.LazyFrame:
    """What groups of jobs were given, used and wasted, how they ended and waited.

    by: names out of KEYS.  The others choose jobs; see ``period``.
    Most wasted CPU hours come first, within each month where there are months.
    """
    names = groups_of(by)
    only = {
        "user": user,
        "account": account,
        "cluster": cluster,
        "partition": partition,
        "qos": qos,
    }
    chosen = selection_of(data, timezone, since, until, month, **only).jobs(data)
    grouped = chosen.with_columns(month=pl.col("at").dt.strftime("%Y-%m")).group_by(names)
    columns = {"jobs": pl.len().cast(pl.Int64), "started": count_of(started())}
    for resource in RESOURCES:
        columns |= use(resource)
    columns |= how_they_ended() | waits()
    summed = grouped.agg(**columns)
    for resource in RESOURCES:
        summed = summed.with_columns(**shares(resource))
    months = ["month"] if "month" in names else []
    rest = [name for name in names if name != "month"]
    return summed.sort(
        *months,
        "cpu_wasted_hours",
        "cpu_hours",
        "jobs",
        *rest,
        descending=[*[False for _ in months], True, True, True, *[False for _ in rest]],
        nulls_last=True,
    )


def groups_of(by: str | Iterable[str]) -> list[str]:
    """The columns that a setting ``by`` names; raises UsageError for a wrong one."""
    names = [n.strip() for n in by.split(",")] if isinstance(by, str) else list(by)
    unknown = [name for name in names if name not in KEYS]
    if unknown or not names or len(set(names)) < len(names):
        raise UsageError(
            f"by={','.join(names)!r} does not name what jobs can be grouped by",
            remedy=f"write one or several of {', '.join(KEYS)}, with commas, each once",
        )
    return names


def ends(
    data: DatasetReader,
    since: str | None = None,
    until: str | None = None,
    month: str | None = None,
    user: str | None = None,
    account: str | None = None,
    cluster: str | None = None,
    partition: str | None = None,
    qos: str | None = None,
    timezone: str | None = None,
) -> pl.LazyFrame:
    """All runs by state, exit code and signal, and user.

    ``ended_jobs`` and ``ended_cpu_hours`` are those of all runs of which it is known how they
    ended.
    """
    only = {
        "user": user,
        "account": account,
        "cluster": cluster,
        "partition": partition,
        "qos": qos,
    }
    chosen = selection_of(data, timezone, since, until, month, **only).jobs(data)
    hours, in_the_end = pl.col("cpu_time_s") / 3600, pl.col("state").is_in(ENDED)
    repeated = pl.col("run_again")
    by = ["cluster", "state", "exit_code", "exit_signal", "user"]
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
        .sort("jobs", *by, descending=[True, *[False for _ in by]], nulls_last=True)
    )


def failures(
    data: DatasetReader,
    since: str | None = None,
    until: str | None = None,
    month: str | None = None,
    user: str | None = None,
    account: str | None = None,
    cluster: str | None = None,
    partition: str | None = None,
    qos: str | None = None,
    timezone: str | None = None,
) -> pl.LazyFrame:
    """The rows of ``ends`` of runs that did not complete, or of which that is not known."""
    every = ends(data, since, until, month, user, account, cluster, partition, qos, timezone)
    state = pl.col("state")
    wanted = (state.is_in(ENDED) & (state != "completed")) | state.is_null()
    return every.filter(wanted).drop("ended")


def arrays(
    data: DatasetReader,
    since: str | None = None,
    until: str | None = None,
    month: str | None = None,
    user: str | None = None,
    account: str | None = None,
    cluster: str | None = None,
    partition: str | None = None,
    qos: str | None = None,
    timezone: str | None = None,
) -> pl.LazyFrame:
    """Job arrays: how many tasks, how they ended, how long they ran, what they used.

    Tasks count by their last run, and run times are those of tasks that ended; hours are those of
    all runs.
    """
    only = {
        "user": user,
        "account": account,
        "cluster": cluster,
        "partition": partition,
        "qos": qos,
    }
    runs = selection_of(data, timezone, since, until, month, **only).jobs(data)
    tasks = runs.filter(pl.col("array_job_id").is_not_null())
    last, state = ~pl.col("again"), pl.col("state")
    count = {
        "ended": last & state.is_in(ENDED),
        "completed": last & (state == "completed"),
        "failed": last & state.is_in(FAILED),
    }
    columns = {
        name: pl.col(name).first() for name in ("user", "account", "partition", "qos", "name")
    } | {"submit_time": pl.col("submit_time").min()}
    columns |= {"tasks": pl.when(last.is_not_null().all()).then(last.sum()).cast(pl.Int64)}
    columns |= {name: count_of(which) for name, which in count.items()}
    ran = pl.col("elapsed_s").filter(last & pl.col("ended") & (pl.col("elapsed_s") > 0))
    columns |= {"median_run_s": ran.median(), "max_run_s": ran.max()}
    for resource in RESOURCES:
        columns |= use(resource)
    grouped = tasks.group_by("cluster", "array_job_id").agg(**columns)
    return grouped.sort(
        "tasks", "cluster", "array_job_id", descending=[True, False, False], nulls_last=True
    )
