"""The report ``queue_time``: how long jobs waited."""

from collections.abc import Iterator, Sequence

import polars as pl

from harvest.toolkit.amounts import count_in_words, seconds_in_words, share_in_words
from harvest_report import Column, LazySection, Notes, Report, Table, Tile

from ..calendar import Zone
from ..job_runs import Jobs
from ..period import WAITED_AT, selection_of
from ..views.declared.common import KEYS, groups_of
from .missing import missing
from .plots import histogram, scatter
from .words import CLOCK, days_in_words, lasting

_STATISTICS = (
    *("by", "name", "jobs", lasting("mean_wait_s", "mean"), lasting("median_wait_s", "median")),
    lasting("std_wait_s", "std dev", "sample standard deviation (n − 1)"),
    lasting("p90_wait_s", "90 %", "9 of 10 jobs waited at most this long"),
    lasting("max_wait_s", "longest"),
)
_NEEDED = ("submit_time", "start_time", "partition", "qos")


def queue_time(data: Jobs, by: Sequence[str] = (), top: int = 10, **choice: str | None) -> Report:
    """Build the report.

    by: the columns to group jobs by; by default partition and QOS. top, choice: the settings of the
        view ``worst_days``.
    """
    groups = [groups_of(by, (*KEYS, *data.by))] if by else [["partition"], ["qos"]]
    selection = selection_of(data, choice, WAITED_AT)
    zone = selection.zone
    waits = data.view("queue_time", **choice).collect()
    return Report(
        f"How long jobs{selection.in_words} waited"
        f"{days_in_words(*waits.select(first=pl.min('date'), last=pl.max('date')).row(0))}",
        intro=() if waits.height else [f"No job{selection.in_words} has a known wait."],
        tiles=_tiles(waits) if waits.height else (),
        picture="by-date",
        sections=[
            Table(
                "statistics",
                wait_statistics(waits, groups),
                _STATISTICS,
                title=f"Waits by {' and by '.join(map(', '.join, groups))}".replace("qos", "QOS"),
                group="by",
                note=CLOCK,
            ),
            *([histogram(waits), scatter(waits, zone)] if waits.height else []),
            Table(
                "worst-days",
                data.view("worst_days", top=top, **choice).collect(),
                (
                    Column("date", "day", doc=f"of submission, in the zone {zone.name}"),
                    *("jobs", lasting("mean_wait_s", "mean"), lasting("median_wait_s", "median")),
                    *(lasting("max_wait_s", "longest"), lasting("total_wait_s", "sum")),
                ),
                title="Days with the longest mean wait",
                note=CLOCK,
            ),
            LazySection(
                "definitions",
                lambda: _about_waits(data, waits, selection.jobs(data, WAITED_AT).collect(), zone),
            ),
        ],
    )


def wait_statistics(waits: pl.DataFrame, groups: Sequence[Sequence[str]]) -> pl.DataFrame:
    """Return ``by``, ``name`` and statistics of ``wait_s``, for all jobs and for each group.

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
    waits = waits.with_columns(
        month=pl.col("date").dt.strftime("%Y-%m"), day=pl.col("date").dt.strftime("%Y-%m-%d")
    )
    parts = [
        waits.group_by(by=pl.lit(by[0] if len(by) == 1 else "group"), name=_name_of(by))
        .agg(**measures)
        .sort("jobs", "name", descending=[True, False], nulls_last=True)
        for by in groups
        if any(waits[name].count() for name in by)
    ]
    whole = waits.select(by=pl.lit("all"), name=pl.lit("all jobs"), **measures)
    return pl.concat([whole, *parts]) if waits.height else whole.clear()


def _name_of(by: Sequence[str]) -> pl.Expr:
    known = pl.any_horizontal(pl.col(by).is_not_null())
    return pl.when(known).then(pl.concat_str(pl.col(by).fill_null("unknown"), separator=", "))


def _tiles(waits: pl.DataFrame) -> Iterator[Tile]:
    wait = waits["wait_s"]
    minute, hour = (wait.filter(wait <= most).len() / wait.len() for most in (60, 3600))
    median, p90, longest = (
        seconds_in_words(wait.quantile(q, interpolation="linear") or 0.0) for q in (0.5, 0.9, 1)
    )
    yield Tile("median wait", median, count_in_words(wait.len(), "started job"))
    yield Tile("9 of 10 jobs waited at most", p90)
    yield Tile("longest wait", longest)
    started = f"{share_in_words(minute)} within a minute"
    yield Tile("started within an hour", share_in_words(hour), started)


def _about_waits(data: Jobs, waits: pl.DataFrame, jobs: pl.DataFrame, zone: Zone) -> Notes:
    items = ["A wait is the time from submission to start. A requeued job waits once per run."]
    items += [*missing(data.words, jobs.lazy(), *_NEEDED), *_left_out(jobs)]
    planned = waits.filter(pl.col("submit_time").is_null()).height
    if planned:
        items.append(
            f"{planned:,} jobs have no submission time: their wait is that from eligible to start, "
            "and their day that of the start."
        )
    return Notes("definitions", [*items, zone.why], title="Definitions")


def _left_out(jobs: pl.DataFrame) -> list[str]:
    started = pl.col("start_time").is_not_null()
    ran = (pl.col("elapsed_s") > 0).fill_null(value=False)
    idle = ((pl.col("elapsed_s") == 0) | (pl.col("state") == "pending")).fill_null(value=False)
    unknown = pl.col("wait_s").is_null() & pl.col("planned_s").is_null()
    reasons = {
        "started after an unknown wait": started & unknown,
        "ran, without a start time": ~started & ran,
        "had not started": ~started & ~ran & idle,
        "may have started or not": ~started & ~ran & ~idle,
    }
    counts = jobs.select(which.sum().alias(reason) for reason, which in reasons.items())
    return [
        f"{count:,} of {jobs.height:,} jobs {reason} and {'is' if count == 1 else 'are'} left out."
        for reason, count in counts.row(0, named=True).items()
        if count
    ]
