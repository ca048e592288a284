"""Views with sums over runs: ``usage``, ``ends``, ``failures``, ``arrays``, ``trend``."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import attrs
import polars as pl

from harvest_toolkit.frames import fraction

from ..calendar import Period
from ..job_runs import ENDED, FAILED, Jobs
from ..period import Selection, selection_of
from . import measures
from .declared.common import KEYS, RESOURCES, TREND_KEYS, groups_of
from .measures import COUNTS, count_of, hours_of
from .why import why_failed


def usage(
    data: Jobs,
    by: str | Iterable[str] = ("user",),
    cpu_hour_cost: float | None = None,
    gpu_hour_cost: float | None = None,
    **choice: str | None,
) -> pl.LazyFrame:
    """Sum resources allocated, used and wasted, final states, waits and failures by group.

    by: names out of KEYS. choice: the jobs; see ``selection_of``.
    The group with the most wasted CPU hours comes first, within each month or day if grouped by
    these.
    """
    names = groups_of(by, (*KEYS, *data.by))
    chosen = why_failed(data, selection_of(data, choice, None).parts(data, names))
    columns = measures.counted()
    for resource in RESOURCES:
        columns |= measures.use(resource)
    columns |= measures.how_they_ended() | measures.why_they_failed() | measures.waits()
    summed = measures.amounts(chosen).group_by(names).agg(**columns)
    times = [name for name in names if name in ("month", "day")]
    most_first = ["cpu_wasted_hours", "cpu_hours", "jobs"]
    order = [*times, *most_first, *(name for name in names if name not in times)]
    most = [name in most_first for name in order]
    # first sorted: a share's denominator is a sum of floats, which depends on their order
    ordered = summed.sort(order, descending=most, nulls_last=True)
    for resource in RESOURCES:
        ordered = ordered.with_columns(**measures.shares(resource))
    return ordered.with_columns(**measures.costs(cpu_hour_cost, gpu_hour_cost))


def ends(data: Jobs, **choice: str | None) -> pl.LazyFrame:
    """Count runs by state, reason, exit code, signal and user.

    ``ended_jobs`` and ``ended_cpu_hours`` are those of all runs with a known final state.
    choice: the runs; see ``selection_of``.
    """
    chosen = why_failed(data, selection_of(data, choice, None).parts(data))
    given, in_the_end = pl.col("cpu_time_s"), pl.col("state").is_in(ENDED)
    repeated, job = pl.col("run_again").filter(COUNTS), pl.col("job_id").filter(COUNTS)
    by = [*data.by, "cluster", "state", "reason", "exit_code", "exit_signal", "user"]
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
            cpu_unknown_jobs=measures.UNKNOWN_CPU_HOURS,
            median_run_s=pl.col("elapsed_s").filter(COUNTS).median(),
            last_job=job.sort_by(pl.col("at").filter(COUNTS), job).last(),
            ended_jobs=pl.col("ended_jobs").first(),
            ended_cpu_hours=pl.col("ended_cpu_hours").first(),
        )
        .sort(order, descending=[name == "jobs" for name in order], nulls_last=True)
    )


def failures(data: Jobs, **choice: str | None) -> pl.LazyFrame:
    """Return the rows of ``ends`` for runs that did not complete or whose state is unknown."""
    state = pl.col("state")
    wanted = (state.is_in(ENDED) & (state != "completed")) | state.is_null()
    return ends(data, **choice).filter(wanted).drop("ended")


def arrays(data: Jobs, **choice: str | None) -> pl.LazyFrame:
    """Sum up job arrays: tasks, final states, run times and resources used.

    A task counts by its last run. Run times are those of ended tasks. Hours include all runs.
    choice: the runs; see ``selection_of``.
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
        columns |= measures.use(resource)
    grouped = (
        measures.amounts(tasks)
        .group_by(*data.by, "cluster", "array_job_id")
        .agg(pl.col("user", "account", "partition", "qos", "name").first(), **columns)
    )
    order = ["tasks", *data.by, "cluster", "array_job_id"]
    return grouped.sort(order, descending=[name == "tasks" for name in order], nulls_last=True)


MEASURES: Final = (
    *("jobs", "cpu_hours", "cpu_wasted_hours", "cpu_eff", "gpu_hours"),
    *("failed_jobs", "failed_share", "mean_wait_s", "days"),
)
"""Columns of each month, and of the same month a year before."""


def trend(data: Jobs, by: str | Iterable[str] = (), **choice: str | None) -> pl.LazyFrame:
    """Return one row per month, and group if any; ``year_before_*`` are the values a year before.

    by: names out of KEYS without the month. choice: the jobs; see ``selection_of``.
    The year before ends where the period or the last job ends, so an unfinished month is compared
    with the same days.
    """
    others = groups_of(by, (*TREND_KEYS, *data.by)) if by else []
    selection = selection_of(data, choice, None)
    keys = ["month", *others]
    before = attrs.evolve(selection, period=_year_before(selection, selection.last(data)))
    now, earlier = (each.parts(data, keys) for each in (selection, before))
    later = pl.col("begin").dt.offset_by("1y").dt.strftime("%Y-%m")
    earlier = earlier.filter(pl.col("begin").is_not_null()).with_columns(month=later)
    now, then = (_by_month(rows, keys) for rows in (now, earlier))
    then = then.rename({name: f"year_before_{name}" for name in MEASURES})
    joined = now.join(then, on=keys, how="left", nulls_equal=True)
    change = fraction("cpu_hours", "year_before_cpu_hours") - 1
    return joined.with_columns(cpu_hours_change=change).sort(keys, nulls_last=True)


def _year_before(selection: Selection, last: datetime | None) -> Period:
    """Return the period a year before, up to the last moment with jobs."""
    here, until = ZoneInfo(selection.zone.name), selection.period.until
    if last is not None:
        behind = last + timedelta(microseconds=1)
        until = behind if until is None else min(behind, until)
    return Period(_earlier(selection.period.since, here), _earlier(until, here))


def _earlier(moment: datetime | None, zone: ZoneInfo) -> datetime | None:
    if moment is None:
        return None
    local = moment.astimezone(zone)
    if (local.month, local.day) == (2, 29):  # its year before goes on with the next day
        local = local.replace(month=3, day=1, hour=0, minute=0, second=0, microsecond=0)
    return local.replace(year=max(local.year - 1, 1)).astimezone(UTC)


def _by_month(rows: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    cpu, gpu = (measures.use(resource) for resource in RESOURCES[:2])
    days = pl.col("at").filter(COUNTS).dt.date()
    summed = cpu | gpu | measures.how_they_ended() | measures.waits()
    columns = {
        "jobs": COUNTS.sum().cast(pl.Int64),
        "days": days.drop_nulls().n_unique().cast(pl.Int64),
        **{k: v for k, v in summed.items() if k in MEASURES},
    }
    return measures.amounts(rows).group_by(keys).agg(**columns)
