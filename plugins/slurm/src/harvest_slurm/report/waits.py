"""The report ``slurm.queue_time``: how long jobs waited."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import share_in_words
from harvest_report import Column, LazySection, Notes, Report, Table

from ..views.calendar import Zone
from ..views.period import WAITED_AT, selection_of
from .missing import missing
from .plots import histogram, scatter
from .words import CLOCK, days_in_words, lasting

_STATISTICS = (
    *("by", "name", "jobs", lasting("mean_wait_s", "mean"), lasting("median_wait_s", "median")),
    lasting("std_wait_s", "std dev", "of the sample: n − 1 in the denominator"),
    lasting("p90_wait_s", "90 %", "nine of ten jobs waited no longer"),
    lasting("max_wait_s", "longest"),
)
_NEEDED = ("submit_time", "start_time", "partition", "qos")


def queue_time(data: DatasetReader, top: int = 10, **choice: str | None) -> Report:
    """The report ``slurm.queue_time``; its settings are those of the view slurm.worst_days."""
    selection = selection_of(data, choice, WAITED_AT)
    zone = selection.zone
    waits = data.view("slurm.queue_time", **choice).collect()
    worst = data.view("slurm.worst_days", top=top, **choice).collect()
    return Report(
        f"How long jobs waited{days_in_words(waits['date'].min(), waits['date'].max())}",
        intro=_waits_in_words(waits, zone, selection.only),
        sections=[
            Table(
                "statistics",
                wait_statistics(waits),
                _STATISTICS,
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
                    *("jobs", lasting("mean_wait_s", "mean"), lasting("median_wait_s", "median")),
                    *(lasting("max_wait_s", "longest"), lasting("total_wait_s", "all together")),
                ),
                title="Days with the longest mean wait",
                note=CLOCK,
            ),
            LazySection(
                "definitions",
                lambda: _about_waits(waits, selection.jobs(data, WAITED_AT).collect(), zone),
            ),
        ],
    )


def wait_statistics(waits: pl.DataFrame) -> pl.DataFrame:
    """by, name and the statistics of wait_s: of all jobs, of each partition, of each QOS.

    The 90th percentile interpolates linearly between the sorted values, as numpy does by default.
    """
    wait = pl.col("wait_s")
    measures = {
        "jobs": pl.len().cast(pl.Int64),
        "mean_wait_s": wait.mean(),
        "median_wait_s": wait.median(),
        "std_wait_s": wait.std(ddof=1),
        "p90_wait_s": wait.quantile(0.9, interpolation="linear"),
        "max_wait_s": wait.max(),
    }
    parts = [
        waits.group_by(by=pl.lit(by), name=by)
        .agg(**measures)
        .sort("jobs", "name", descending=[True, False], nulls_last=True)
        for by in ("partition", "qos")
        if waits[by].count()
    ]
    whole = waits.select(by=pl.lit("all"), name=pl.lit("all jobs"), **measures)
    return pl.concat([whole, *parts]) if waits.height else whole.clear()


def _waits_in_words(waits: pl.DataFrame, zone: Zone, chosen: Mapping[str, str]) -> list[str]:
    which = "".join(f" of {name} {value}" for name, value in chosen.items())
    if not waits.height:
        return [f"Of no job{which} in this dataset it is known how long it waited."]
    minute, hour = (
        waits.filter(pl.col("wait_s") <= most).height / waits.height for most in (60, 3600)
    )
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
    idle = ((pl.col("elapsed_s") == 0) | (pl.col("state") == "pending")).fill_null(value=False)
    unknown = pl.col("wait_s").is_null() & pl.col("planned_s").is_null()
    reasons = {
        "started, without a known time of submission": started & unknown,
        "ran, without a known start": ~started & ran,
        "had not started": ~started & ~ran & idle,
        "may have started or not": ~started & ~ran & ~idle,
    }
    counts = jobs.select(which.sum().alias(reason) for reason, which in reasons.items())
    return [
        f"{count:,} of {jobs.height:,} jobs {reason} and {'is' if count == 1 else 'are'} left out."
        for reason, count in counts.row(0, named=True).items()
        if count
    ]
