"""Reports of jobs: how long they waited, and who used what.

The views decide what a wait and an efficiency are; here they are summed up.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from harvest import DatasetReader
from harvest.report import Column, Notes, Report, Table

from .report_plots import cpu_hours, histogram, scatter, states

__all__ = ["queue_time", "summary", "wait_statistics"]

_CLOCK = "Waits are shown as days-hours:minutes:seconds; files hold seconds."

_SHARED = r"^\([0-9,]+ others\)$"
"""Name of the row that the users without one of their own share."""

WAITS = (
    Column("jobs"),
    Column("mean_wait_s", "mean", None, "duration"),
    Column("median_wait_s", "median", None, "duration"),
    Column(
        "std_wait_s", "std dev", None, "duration", doc="of the sample: n − 1 in the denominator"
    ),
    Column("p90_wait_s", "90 %", None, "duration", doc="nine of ten jobs waited no longer"),
    Column("max_wait_s", "longest", None, "duration"),
)


def queue_time(
    data: DatasetReader,
    timezone: str = "UTC",
    top: int | str = 10,
    partition: str | None = None,
    qos: str | None = None,
) -> Report:
    """The report ``slurm.queue_time``; its settings are those of the view slurm.worst_days."""
    filters = {"partition": partition, "qos": qos}
    chosen = {name: value for name, value in filters.items() if value is not None}
    waits = _picked(data.view("slurm.queue_time", timezone=timezone), chosen).collect()
    all_jobs = _picked(data.view("slurm.jobs"), chosen).select(pl.len()).collect().item()
    days = data.view("slurm.worst_days", timezone=timezone, top=top, **chosen).collect()
    return Report(
        "How long jobs waited",
        intro=_waits_in_words(waits, timezone, chosen),
        sections=[
            Table(
                "statistics",
                wait_statistics(waits),
                (Column("by"), Column("name"), *WAITS),
                title="Waits of all jobs, by partition and by QOS",
                group="by",
                note=_CLOCK,
            ),
            *([histogram(waits), scatter(waits, timezone)] if waits.height else []),
            Table(
                "worst-days",
                days,
                (
                    Column("date", "day", doc=f"of submission, in the zone {timezone}"),
                    Column("jobs"),
                    Column("mean_wait_s", "mean", None, "duration"),
                    Column("median_wait_s", "median", None, "duration"),
                    Column("max_wait_s", "longest", None, "duration"),
                    Column("total_wait_s", "all together", None, "duration"),
                ),
                title="Days with the longest mean wait",
                note=_CLOCK,
            ),
            _about_waits(waits, all_jobs),
        ],
    )


def wait_statistics(waits: pl.DataFrame) -> pl.DataFrame:
    """by, name and the statistics of wait_s: of all jobs, of each partition, of each QOS.

    The 90th percentile interpolates linearly between the sorted values, as numpy does by default.
    """
    wait = pl.col("wait_s")
    measures = (
        pl.len().cast(pl.Int64).alias("jobs"),
        wait.mean().alias("mean_wait_s"),
        wait.median().alias("median_wait_s"),
        wait.std(ddof=1).alias("std_wait_s"),
        wait.quantile(0.9, interpolation="linear").alias("p90_wait_s"),
        wait.max().alias("max_wait_s"),
    )
    parts = [
        waits.group_by(pl.lit(by).alias("by"), pl.col(by).alias("name"))
        .agg(measures)
        .sort("jobs", "name", descending=[True, False], nulls_last=True)
        for by in ("partition", "qos")
        if waits[by].null_count() < waits.height
    ]
    if not waits.height:
        return waits.select(pl.lit("all").alias("by"), pl.lit("").alias("name"), *measures).clear()
    whole = waits.select(pl.lit("all").alias("by"), pl.lit("all jobs").alias("name"), *measures)
    return pl.concat([whole, *parts])


def summary(data: DatasetReader, top: int | str = 25) -> Report:
    """The report ``slurm.summary``; top: how many users have a row of their own, 0 for all."""
    shown = _number(top)
    used = data.view("slurm.efficiency").collect()
    waits = data.view("slurm.queue_time").collect()
    others = _others(used, shown)
    named = {by: sum_up(_fold(used, others), _fold(waits, others), by)
             for by in ("user", "partition", "state")}  # fmt: skip
    people = named["user"]
    return Report(
        "Jobs by user, partition and state",
        intro=_use_in_words(used),
        sections=[
            *(Table(by, table, _columns(by), title=f"By {by}") for by, table in named.items()),
            *([cpu_hours(people), states(named["state"])] if used.height else []),
            _about_use(used, others),
        ],
    )


def sum_up(used: pl.DataFrame, waits: pl.DataFrame, by: str) -> pl.DataFrame:
    """Jobs, CPU hours, efficiencies and waits per value of a column, most CPU hours first.

    used, waits: rows of the views slurm.efficiency and slurm.queue_time.
    """
    given = pl.col("elapsed_s") * pl.col("alloc_cpus")
    measured = pl.col("cpu_s").is_not_null() & (given > 0)
    hours = pl.col("cpu_hours")
    use = used.group_by(by).agg(
        pl.len().cast(pl.Int64).alias("jobs"),
        pl.when(hours.count() > 0).then(hours.sum()).alias("cpu_hours"),
        pl.when(measured.any())
        .then(pl.col("cpu_s").filter(measured).sum() / given.filter(measured).sum())
        .alias("cpu_eff"),
        pl.col("mem_eff").mean(),
    )
    waited = waits.group_by(by).agg(
        pl.col("wait_s").mean().alias("mean_wait_s"),
        pl.col("wait_s").median().alias("median_wait_s"),
        pl.col("wait_s").max().alias("max_wait_s"),
    )
    return use.join(waited, on=by, how="left", nulls_equal=True).sort(
        # those who share a row come last, however much they used together
        pl.col(by).str.contains(_SHARED).fill_null(value=False),
        "cpu_hours",
        "jobs",
        by,
        descending=[False, True, True, False],
        nulls_last=True,
    )


def _columns(by: str) -> tuple[Column, ...]:
    return (
        Column(by),
        Column("jobs"),
        Column("cpu_hours", "CPU hours", None, ",.1f", doc="elapsed time x CPUs allocated"),
        Column(
            "cpu_eff",
            "CPU eff.",
            None,
            ".1%",
            doc="CPU time used / (elapsed x CPUs), all jobs together whose use was measured",
        ),
        Column(
            "mem_eff",
            "mem. eff.",
            None,
            ".1%",
            doc="most memory of a step / memory allocated, mean of the jobs that were measured",
        ),
        Column("mean_wait_s", "mean wait", None, "duration"),
        Column("median_wait_s", "median wait", None, "duration"),
    )


def _picked(frame: pl.LazyFrame, chosen: dict[str, str]) -> pl.LazyFrame:
    return frame.filter(*(pl.col(name) == value for name, value in chosen.items()))


def _number(top: int | str) -> int:
    from harvest import UsageError

    try:
        number = int(top)
    except ValueError:
        number = -1
    if number < 0:
        raise UsageError(f"top={top!r} is no number of users", remedy="write top=25, or 0 for all")
    return number


def _others(used: pl.DataFrame, shown: int) -> list[str]:
    """Users beyond the first ``shown`` by CPU hours; one alone is not worth folding."""
    if not shown:
        return []
    order = (
        used.filter(pl.col("user").is_not_null())
        .group_by("user")
        .agg(pl.col("cpu_hours").sum(), pl.len())
        .sort("cpu_hours", "len", "user", descending=[True, True, False], nulls_last=True)
    )
    names: list[str] = order["user"].to_list()[shown:]
    return names if len(names) > 1 else []


def _fold(frame: pl.DataFrame, others: list[str]) -> pl.DataFrame:
    if not others:
        return frame
    label = f"({len(others):,} others)"
    return frame.with_columns(
        pl.when(pl.col("user").is_in(others))
        .then(pl.lit(label))
        .otherwise(pl.col("user"))
        .alias("user")
    )


def _waits_in_words(waits: pl.DataFrame, timezone: str, chosen: dict[str, str]) -> list[str]:
    which = "".join(f" of {name} {value}" for name, value in chosen.items())
    if not waits.height:
        return [f"No job{which} in this dataset has started."]
    days = waits["date"].drop_nulls().sort()
    hour = waits.filter(pl.col("wait_s") <= 3600).height / waits.height
    minute = waits.filter(pl.col("wait_s") <= 60).height / waits.height
    return [
        f"{waits.height:,} jobs{which} that were submitted from {days[0]} to {days[-1]} "
        f"({timezone}) and started: {minute:.0%} within a minute, {hour:.0%} within an hour."
    ]


def _about_waits(waits: pl.DataFrame, all_jobs: int) -> Notes:
    items = ["A wait is the time from submit to start; a requeued job waits once per run."]
    not_started = all_jobs - waits.height
    if not_started:
        items.append(f"{not_started:,} of {all_jobs:,} jobs had not started and are left out.")
    negative = waits.filter(pl.col("wait_s") < 0).height
    if negative:
        items.append(f"{negative:,} jobs started before they were submitted, by their times.")
    return Notes("definitions", items, title="Definitions")


def _use_in_words(used: pl.DataFrame) -> list[str]:
    if not used.height:
        return ["This dataset has no jobs."]
    hours: Any = used["cpu_hours"].sum()
    users = used["user"].drop_nulls().n_unique()
    done = used.filter(pl.col("state") == "completed").height / used.height
    who = f"{used.height:,} jobs of {users:,} user{'s' if users != 1 else ''}"
    return [f"{who}: {hours:,.1f} CPU hours, {done:.0%} completed."]


def _about_use(used: pl.DataFrame, others: list[str]) -> Notes:
    items = []
    for column, what in (
        ("cpu_hours", "CPU hours are known"),
        ("cpu_eff", "The CPU time used was measured"),
        ("mem_eff", "The memory used was measured"),
    ):
        known = used[column].count()
        if known < used.height:
            items.append(f"{what} for {known:,} of {used.height:,} jobs.")
    items.append("A wait is the time from submit to start; jobs that have not started have none.")
    items.append(_CLOCK)
    if others:
        items.append(
            f"{len(others):,} users with the fewest CPU hours share a row: top=0 lists all."
        )
    return Notes("definitions", items, title="Definitions")
