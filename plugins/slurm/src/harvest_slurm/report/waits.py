"""The report ``slurm.queue_time``: how long jobs waited."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import share_in_words
from harvest_report import Column, Notes, Report, Table

from ..views.calendar import Zone
from ..views.period import WAITED_AT, selection_of
from .missing import missing
from .plots import histogram, scatter
from .words import CLOCK, days_in_words

_WAITS = (
    "jobs",
    Column("mean_wait_s", "mean", None, "duration"),
    Column("median_wait_s", "median", None, "duration"),
    Column(
        "std_wait_s", "std dev", None, "duration", doc="of the sample: n − 1 in the denominator"
    ),
    Column("p90_wait_s", "90 %", None, "duration", doc="nine of ten jobs waited no longer"),
    Column("max_wait_s", "longest", None, "duration"),
)
_NEEDED = ("submit_time", "start_time", "partition", "qos")


def queue_time(data: DatasetReader, top: int = 10, **choice: str | None) -> Report:
    """The report ``slurm.queue_time``; its settings are those of the view slurm.worst_days."""
    selection = selection_of(data, choice, WAITED_AT)
    zone = selection.zone
    waits = data.view("slurm.queue_time", **choice).collect()
    jobs = selection.jobs(data, WAITED_AT).collect()
    worst = data.view("slurm.worst_days", top=top, **choice).collect()
    return Report(
        f"How long jobs waited{days_in_words(waits['date'].min(), waits['date'].max())}",
        intro=_waits_in_words(waits, zone, selection.only),
        sections=[
            Table(
                "statistics",
                wait_statistics(waits),
                ("by", "name", *_WAITS),
                title="Waits of all jobs, by partition and by QOS",
                group="by",
                note=CLOCK,
            ),
            *([histogram(waits), scatter(waits, zone)] if waits.height else []),
            Table(
                "worst-days",
                worst,
                (
                    Column("date", "day", doc=f"of submission, in the zone {zone.name}"),
                    "jobs",
                    Column("mean_wait_s", "mean", None, "duration"),
                    Column("median_wait_s", "median", None, "duration"),
                    Column("max_wait_s", "longest", None, "duration"),
                    Column("total_wait_s", "all together", None, "duration"),
                ),
                title="Days with the longest mean wait",
                note=CLOCK,
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


def _waits_in_words(waits: pl.DataFrame, zone: Zone, chosen: Mapping[str, str]) -> list[str]:
    which = "".join(f" of {name} {value}" for name, value in chosen.items())
    if not waits.height:
        return [f"Of no job{which} in this dataset it is known how long it waited."]
    hour = waits.filter(pl.col("wait_s") <= 3600).height / waits.height
    minute = waits.filter(pl.col("wait_s") <= 60).height / waits.height
    days = f"from {waits['date'].min()} to {waits['date'].max()} ({zone.name})"
    return [
        f"{waits.height:,} jobs{which} that were submitted {days} and started: "
        f"{share_in_words(minute)} within a minute, {share_in_words(hour)} within an hour."
    ]


def _about_waits(waits: pl.DataFrame, jobs: pl.DataFrame, zone: Zone) -> Notes:
    items = ["A wait is the time from submit to start; a requeued job waits once per run."]
    items += [*missing(jobs.lazy(), *_NEEDED), *_left_out(jobs)]
    planned = waits.filter(pl.col("submit_time").is_null()).height
    if planned:
        items.append(
            f"Of {planned:,} jobs the time of submission is not known: their wait is that from "
            "eligible to start, and their day that of the start."
        )
    return Notes("definitions", [*items, zone.why], title="Definitions")


def _left_out(jobs: pl.DataFrame) -> list[str]:
    """Why jobs have no wait."""
    started = pl.col("start_time").is_not_null()
    ran = (pl.col("elapsed_s") > 0).fill_null(value=False)
    known = ran | (pl.col("elapsed_s") == 0) | (pl.col("state") == "pending")
    reasons = (
        (started & pl.col("wait_s").is_null() & pl.col("planned_s").is_null(),
         "started, without a known time of submission"),
        (~started & ran, "ran, without a known start"),
        (~started & ~ran & known.fill_null(value=False), "had not started"),
        (~started & ~known.fill_null(value=False), "may have started or not"),
    )  # fmt: skip
    counts = [(jobs.filter(which).height, reason) for which, reason in reasons]
    return [
        f"{count:,} of {jobs.height:,} jobs {reason} and {'is' if count == 1 else 'are'} left out."
        for count, reason in counts
        if count
    ]
