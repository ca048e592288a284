"""Reports of jobs: how long they waited, and who used what.

The views decide what a wait and an efficiency are; here they are summed up.
"""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import count_in_words, share_in_words
from harvest_report import Column, Notes, Report, Table

from .ends import ENDED
from .period import days_in_words
from .report_plots import cpu_hours, histogram, scatter, states
from .zone import Zone, zone_of

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
    timezone: str | None = None,
    top: int = 10,
    partition: str | None = None,
    qos: str | None = None,
) -> Report:
    """The report ``slurm.queue_time``; its settings are those of the view slurm.worst_days."""
    zone = zone_of(data, timezone)
    filters = {"partition": partition, "qos": qos}
    chosen = {name: value for name, value in filters.items() if value is not None}
    waits = _picked(data.view("slurm.queue_time", timezone=zone.name), chosen).collect()
    jobs = _picked(data.view("slurm.jobs"), chosen).collect()
    days = data.view("slurm.worst_days", timezone=zone.name, top=top, **chosen).collect()
    return Report(
        f"How long jobs waited{_days(waits)}",
        intro=_waits_in_words(waits, zone, chosen),
        sections=[
            Table(
                "statistics",
                wait_statistics(waits),
                (Column("by"), Column("name"), *WAITS),
                title="Waits of all jobs, by partition and by QOS",
                group="by",
                note=_CLOCK,
            ),
            *([histogram(waits), scatter(waits, zone)] if waits.height else []),
            Table(
                "worst-days",
                days,
                (
                    Column("date", "day", doc=f"of submission, in the zone {zone.name}"),
                    Column("jobs"),
                    Column("mean_wait_s", "mean", None, "duration"),
                    Column("median_wait_s", "median", None, "duration"),
                    Column("max_wait_s", "longest", None, "duration"),
                    Column("total_wait_s", "all together", None, "duration"),
                ),
                title="Days with the longest mean wait",
                note=_CLOCK,
            ),
            _about_waits(waits, jobs, zone),
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


def summary(data: DatasetReader, timezone: str | None = None, top: int = 25) -> Report:
    """The report ``slurm.summary``; top: how many users have a row of their own, 0 for all."""
    zone = zone_of(data, timezone)
    date = zone.local(pl.coalesce("submit_time", "start_time")).dt.date()
    month = pl.col("date").dt.strftime("%Y-%m").alias("month")
    used = data.view("slurm.efficiency").collect().with_columns(date=date).with_columns(month)
    waits = data.view("slurm.queue_time", timezone=zone.name).collect().with_columns(month)
    others = _others(used, top)
    named = {by: sum_up(_fold(used, others), _fold(waits, others), by)
             for by in ("user", "partition", "state")}  # fmt: skip
    people = named["user"]
    months = sum_up(used, waits, "month").sort("month", nulls_last=True)
    return Report(
        f"Jobs by user, partition, state and month{_days(used)}",
        intro=_use_in_words(used, zone),
        sections=[
            *(Table(by, table, _columns(by), title=f"By {by}") for by, table in named.items()),
            Table(
                "month",
                months,
                _columns("month", doc=f"of submission, in the zone {zone.name}"),
                title="By month of submission",
            ),
            *([cpu_hours(people), states(named["state"])] if used.height else []),
            _about_use(used, waits, others, zone),
        ],
    )


def sum_up(used: pl.DataFrame, waits: pl.DataFrame, by: str) -> pl.DataFrame:
    """Jobs, CPU hours, efficiencies and waits per value of a column, most CPU hours first.

    used, waits: rows of the views slurm.efficiency and slurm.queue_time.
    """
    given = pl.col("cpu_hours") * 3600
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


def _columns(by: str, doc: str | None = None) -> tuple[Column, ...]:
    return (
        Column(by, doc=doc),
        Column("jobs"),
        Column("cpu_hours", "CPU hours", None, ",.1f", doc="elapsed time x CPUs allocated"),
        Column(
            "cpu_eff",
            "CPU eff.",
            None,
            ".1%",
            doc="CPU time used / (elapsed x CPUs), all jobs together that ended and whose use was "
            "measured",
        ),
        Column(
            "mem_eff",
            "mean mem. eff.",
            None,
            ".1%",
            doc="most memory of a step / memory allocated, mean of the jobs that were measured",
        ),
        Column("mean_wait_s", "mean wait", None, "duration"),
        Column("median_wait_s", "median wait", None, "duration"),
    )


def _picked(frame: pl.LazyFrame, chosen: dict[str, str]) -> pl.LazyFrame:
    return frame.filter(*(pl.col(name) == value for name, value in chosen.items()))


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


def _days(rows: pl.DataFrame) -> str:
    """The first and the last day of submission, to follow a title."""
    return days_in_words(*rows.select(first=pl.col("date").min(), last=pl.col("date").max()).row(0))


def _period(dates: pl.Series, zone: Zone) -> str:
    """``from 2024-01-01 to 2024-03-31 (UTC)``."""
    days = dates.drop_nulls().sort()
    return f"from {days[0]} to {days[-1]} ({zone.name})"


def _waits_in_words(waits: pl.DataFrame, zone: Zone, chosen: dict[str, str]) -> list[str]:
    which = "".join(f" of {name} {value}" for name, value in chosen.items())
    if not waits.height:
        return [f"Of no job{which} in this dataset it is known how long it waited."]
    hour = waits.filter(pl.col("wait_s") <= 3600).height / waits.height
    minute = waits.filter(pl.col("wait_s") <= 60).height / waits.height
    return [
        f"{waits.height:,} jobs{which} that were submitted {_period(waits['date'], zone)} "
        f"and started: {minute:.0%} within a minute, {hour:.0%} within an hour."
    ]


def _about_waits(waits: pl.DataFrame, jobs: pl.DataFrame, zone: Zone) -> Notes:
    items = ["A wait is the time from submit to start; a requeued job waits once per run."]
    items += _left_out(jobs)
    planned = waits.filter(pl.col("submit_time").is_null()).height
    if planned:
        items.append(
            f"Of {planned:,} jobs the time of submission is not known: their wait is that from "
            "eligible to start, and their day that of the start."
        )
    negative = waits.filter(pl.col("wait_s") < 0).height
    if negative:
        items.append(f"{negative:,} jobs started before they were submitted, by their times.")
    return Notes("definitions", [*items, zone.why], title="Definitions")


def _left_out(jobs: pl.DataFrame) -> list[str]:
    """Why jobs have no wait."""
    started = pl.col("start_time").is_not_null()
    ran = (pl.col("elapsed_s") > 0).fill_null(value=False)
    known = ran | (pl.col("elapsed_s") == 0) | (pl.col("state") == "pending")
    reasons = (
        (started & pl.col("wait_s").is_null() & pl.col("planned_s").is_null(),
         "started, but it is not known when they were submitted"),
        (~started & ran, "ran, but it is not known when they started"),
        (~started & ~ran & known.fill_null(value=False), "had not started"),
        (~started & ~known.fill_null(value=False), "may have started or not"),
    )  # fmt: skip
    counts = [(jobs.filter(which).height, reason) for which, reason in reasons]
    return [
        f"{count:,} of {jobs.height:,} jobs {reason} and are left out."
        for count, reason in counts
        if count
    ]


def _use_in_words(used: pl.DataFrame, zone: Zone) -> list[str]:
    """Jobs, users, CPU hours and success; what the dataset does not hold is said to be unknown."""
    if not used.height:
        return ["This dataset has no jobs."]
    users = used["user"].drop_nulls().n_unique()
    who = f"{used.height:,} jobs"
    who += f" of {users:,} user{'s' if users != 1 else ''}" if users else ", users not known"
    if used["date"].count():
        who += f", submitted {_period(used['date'], zone)}"
    known = used["cpu_hours"].count()
    hours = f"{used['cpu_hours'].sum():,.1f} CPU hours" if known else "CPU hours not known"
    if 0 < known < used.height:
        hours += f" of the {known:,} jobs where they are known"
    return [f"{who}: {hours}; {_ends_in_words(used)}."]


def _ends_in_words(used: pl.DataFrame) -> str:
    """How many jobs ended and which share of them completed; of the others what they hold."""
    states = used["state"].drop_nulls()
    ended = states.is_in(ENDED).sum()
    if states.is_empty():
        return "state not known"
    said = f"{ended:,} ended"
    if ended:
        said += f", {share_in_words((states == 'completed').sum() / ended)} of them completed"
    others = used.filter(~pl.col("state").is_in(ENDED) & (pl.col("cpu_hours") > 0))
    if others.height:
        said += (
            f"; the use of {others['cpu_hours'].sum():,.1f} CPU hours is not known yet, as "
            f"{count_in_words(others.height, 'run')} {'has' if others.height == 1 else 'have'} "
            "not ended"
        )
    return said


def _about_use(used: pl.DataFrame, waits: pl.DataFrame, others: list[str], zone: Zone) -> Notes:
    items = []
    for column, what in (
        ("cpu_hours", "CPU hours are known"),
        ("cpu_eff", "The CPU time used is known"),
        ("mem_eff", "The memory used is known"),
        ("state", "The state is known"),
    ):
        known = used[column].count()
        if known < used.height:
            items.append(f"{what} for {known:,} of {used.height:,} jobs.")
    others_wait = ", the others had not started or have no such times"
    items.append(
        f"A wait is the time from submit to start; it is known for {waits.height:,} of "
        f"{used.height:,} jobs{others_wait if waits.height < used.height else ''}."
    )
    items += [_CLOCK, zone.why]
    if others:
        items.append(
            f"{len(others):,} users with the fewest CPU hours share a row: top=0 lists all."
        )
    return Notes("definitions", items, title="Definitions")
