"""The jobs that a view counts: those of a period, a user, an account or a cluster.

A job counts at one moment: its end, else its start, else its submission. So it counts in only one
month. Its hours are divided over the months in which it ran. Each part has a share of the run's
hours, in proportion to its share of the time from start to end, with suspensions. The shares of
a run add up to 1. A run with an unknown start or end is one part, at the moment at which it
counts.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Final, Self
from zoneinfo import ZoneInfo

import attrs
import polars as pl

from harvest import DatasetReader, UsageError
from harvest_toolkit.frames import kept

from .calendar import NAMES, Period, Zone, period_of, zone_of
from .frame import ended, rows_of, runs_of
from .job_runs import JobRuns, Jobs
from .possible import ran_until

COUNTS_AT: Final = ("end_time", "start_time", "submit_time")
"""The times of a run in order of preference: it counts at the first known one."""

KEPT_RUNS: Final = 1_000_000
"""Runs that are kept in memory, about 400 bytes each: a report and its rules use them 8 times."""

_STEP: Final = {"month": "1mo", "day": "1d"}

WAITED_AT: Final = ("submit_time", "start_time")
"""The same for waits: a wait counts on the day on which it began."""


@attrs.frozen
class Selection:
    """The jobs that are counted.

    zone: of days and months. period: open by default. only: column -> the value that jobs must
        have.
    split: divide hours over each ``month`` or ``day``; ``none``: all hours count at the moment of
        the run; None: divide over the months or days of the rows, if any.
    """

    zone: Zone
    period: Period = attrs.field(factory=Period)
    only: Mapping[str, str] = attrs.field(factory=dict)
    split: str | None = None

    def jobs(self, data: Jobs, at: tuple[str, ...] = COUNTS_AT) -> pl.LazyFrame:
        """Return the runs that count in the period, with the columns of ``runs``."""
        counted = self.runs(data, at).filter(within(self.period))
        return counted.with_columns(self.zone.local(pl.col("at"))).drop("ran_until")

    def parts(self, data: Jobs, by: Collection[str] = ()) -> pl.LazyFrame:
        """Return the rows of ``runs``, divided over the periods in which they ran: see ``parts``.

        by: the columns to group by. The rows have the columns ``month`` and ``day``.
        """
        unit = "day" if "day" in by else "month" if "month" in by else None
        if unit == "day" and self.split == "month":
            raise UsageError(
                "split=month divides hours over months, but by=day needs days",
                remedy="write split=day",
            )
        rows = self.runs(data)
        if self.is_divided:
            rows = parts(rows, self.period, self.zone, unit)
        else:
            whole = {"share": pl.lit(1.0), "counts": pl.lit(value=True)}
            begin = first_day(self.zone, "at", unit)
            rows = rows.filter(within(self.period)).with_columns(**whole, begin=begin)
        return rows.with_columns(
            self.zone.local(pl.col("at")),
            month=pl.col("begin").dt.strftime("%Y-%m"),
            day=pl.col("begin").dt.strftime("%Y-%m-%d"),
        )

    @property
    def is_divided(self) -> bool:
        """Whether hours count in the periods in which they were used."""
        return self.split != "none"

    def runs(self, data: Jobs, at: tuple[str, ...] = COUNTS_AT) -> pl.LazyFrame:
        """Return the runs of any time, with the moment ``at`` at which each counts.

        at: the times of a run; the first known one is that moment.

        ``again`` says whether the job ran again after this run; null if the order of its runs is
        unknown. ``run_again`` is also null if no job of the cluster has several runs: the dump may
        leave out earlier runs.
        """
        frames = [self._runs_of(data, runs, at) for runs in self._schedulers(data)]
        if len(frames) == 1:
            return frames[0]
        together = pl.concat(frames, how="diagonal_relaxed")
        return together.sort("submit_time", "job_id", "restart", nulls_last=True)

    def _runs_of(self, data: Jobs, runs: JobRuns, at: tuple[str, ...]) -> pl.LazyFrame:
        run, job = pl.col("restart"), ("cluster", "job_id")
        all_known = run.is_not_null().all().over(job)
        again = pl.when(all_known).then(run < run.max().over(job))
        several = (pl.len().over(job) > 1).alias("several")
        every = kept_if_few(data.data, runs, "job runs", lambda: runs_of(data.data, runs))
        chosen = every.with_columns(several, at=pl.coalesce(at), again=again)
        listed = pl.col("several").any().over("cluster") | (pl.col("restarts") == 0)
        chosen = chosen.with_columns(
            pl.when(listed).then("again").alias("run_again"),
            *(pl.lit(runs.scheduler).alias(name) for name in data.by),
        )
        return chosen.drop("several").filter(**self.only)

    def _schedulers(self, data: Jobs) -> list[JobRuns]:
        chosen = self.only.get("scheduler")
        return [runs for runs in data.schedulers if chosen in (None, runs.scheduler)]

    @property
    def is_bounded(self) -> bool:
        """Whether the period has a bound, so that jobs without any known time are left out."""
        return self.period.since is not None or self.period.until is not None

    @property
    def in_words(self) -> str:
        """The chosen jobs after the word jobs: `` of user ann, account x``; empty for all."""
        kinds = ", ".join(f"{name} {value}" for name, value in self.only.items())
        return f" of {kinds}" if kinds else ""

    def checked(self, data: Jobs, at: tuple[str, ...] | None) -> Self:
        """Return the selection; raises UsageError if the dataset has such jobs only at other times.

        at: the times that decide whether a job is in the period; None for jobs that ran in it.
        """
        if not self.is_bounded:
            return self
        rows = self._moments(data, at or COUNTS_AT)
        of_period = rows.filter(within(self.period)) if at else spans(rows, self.period)
        if of_period.select(pl.len()).collect().item():
            return self
        moment = self.zone.local(pl.col("at")).dt.date()
        first, last = rows.select(first=moment.min(), last=moment.max()).collect().row(0)
        if first is not None:
            whole = f"from {first} to {last}" if first != last else f"on {first}"
            raise UsageError(
                f"the dataset has no jobs{self.in_words} in {self.period.in_words(self.zone.name)}",
                remedy=f"it has jobs{self.in_words} {whole} ({self.zone.name}): write --set "
                f"from={first} --set to={last}, or --set year={last:%Y}",
            )
        return self

    def last(self, data: Jobs) -> datetime | None:
        """Return the last moment in the period with a job of the dataset."""
        rows = spans(self._moments(data, COUNTS_AT), self.period)
        inside = pl.col("ran_to").clip(None, self.period.until)
        return rows.select(inside.max()).collect().item()  # type: ignore[no-any-return]

    def _moments(self, data: Jobs, at: tuple[str, ...]) -> pl.LazyFrame:
        """Return when the chosen runs began, count and ended, from the unchanged records."""
        only = {name: value for name, value in self.only.items() if name not in data.by}
        return pl.concat(
            rows_of(data.data, runs)
            .filter(**only)
            .select("start_time", at=pl.coalesce(at), ran_until=ran_until(ended()))
            for runs in self._schedulers(data)
        )


def selection_of(
    data: Jobs, choice: Mapping[str, str | None], at: tuple[str, ...] | None = COUNTS_AT
) -> Selection:
    """Return the jobs that a view's settings choose; raises UsageError for a wrong setting.

    choice: ``timezone``, ``split``, settings of NAMES for a period, and columns with the value that
        jobs must have.
    at: the times that decide whether a job is in the period; None for jobs that ran in it. A period
        without jobs of the dataset is an error.
    """
    zone = zone_of(data, choice.get("timezone"))
    given = {name: value for name, value in choice.items() if value is not None}
    given.pop("timezone", None)
    split = given.pop("split", None)
    period = period_of({key: given.pop(key) for key in NAMES if key in given}, ZoneInfo(zone.name))
    if split == "none" and at is None:
        at = COUNTS_AT
    selection = Selection(zone, period, given, split)
    known = [runs.scheduler for runs in data.schedulers]
    if "scheduler" in given and given["scheduler"] not in known:
        raise UsageError(
            f"the dataset has no jobs of the scheduler {given['scheduler']!r}",
            remedy=f"it has jobs of {', '.join(known)}",
        )
    return selection.checked(data, at)


def kept_if_few(
    data: DatasetReader, runs: JobRuns, what: str, build: Callable[[], pl.LazyFrame]
) -> pl.LazyFrame:
    """Return what ``build`` makes of a scheduler's runs; of up to KEPT_RUNS, once for a dataset."""
    key = runs.record_type
    counted = kept(data, ("job rows", key), lambda: data[key].select(pl.len()).collect())
    if counted.item() > KEPT_RUNS:
        return build()
    return kept(data, (what, key), lambda: build().collect()).lazy()


def within(period: Period) -> pl.Expr:
    """Return whether a run counts in a period, by the moment ``at``."""
    at = pl.col("at").dt.convert_time_zone("UTC")
    since = pl.lit(value=True) if period.since is None else at >= period.since
    return since if period.until is None else since & (at < period.until)


def spans(runs: pl.LazyFrame, period: Period) -> pl.LazyFrame:
    """Keep the runs that count in a period or ran in it, and add ``ran_from`` and ``ran_to``.

    runs: rows with ``start_time``, ``ran_until`` and ``at``.
    """
    known = pl.col("ran_until").is_not_null()
    ran = {
        "ran_from": pl.when(known).then("start_time").otherwise("at"),
        "ran_to": pl.coalesce("ran_until", "at"),
    }
    inside = pl.lit(value=True)
    if period.since is not None:
        inside &= pl.col("ran_to") > period.since
    if period.until is not None:
        inside &= pl.col("ran_from") < period.until
    return runs.with_columns(**ran).filter(within(period) | inside)


def parts(runs: pl.LazyFrame, period: Period, zone: Zone, unit: str | None) -> pl.LazyFrame:
    """Return the parts of runs in a period.

    unit: ``month`` or ``day`` to divide runs; None for one part in the whole period.
    ``begin`` is the first day of the month, or the day. ``share`` is the part of the run's hours,
    ``counts`` whether the run counts there. A run can count where it has no hours (it ended with
    the month before): the share of that part is 0.
    """
    start, end, begin = pl.col("ran_from"), pl.col("ran_to"), pl.col("begin")
    bounds = (period.since, period.until)
    clipped = spans(runs, period).with_columns(
        start.clip(*bounds), end.clip(*bounds), whole=end - start, counts=within(period)
    )
    if unit is None:
        cut = clipped.with_columns(begin=first_day(zone, "at"), part=end - start)
    else:
        first, at = first_day(zone, "ran_from", unit), first_day(zone, "at", unit)
        last = pl.max_horizontal(first, first_day(zone, "ran_to", unit))
        listed = clipped.with_columns(
            first=first, last=last, begin=pl.date_ranges(first, last, _STEP[unit])
        )
        # the outer ends are those of the run, so that the parts add up to the run
        begins, ends = (
            pl.when(begin == outer).then(own).otherwise(_midnight(day, zone).clip(start, end))
            for outer, own, day in (
                (pl.col("first"), start, begin),
                (pl.col("last"), end, begin.dt.offset_by(_STEP[unit])),
            )
        )
        here = begin.eq_missing(at.clip(pl.col("first"), pl.col("last")))
        cut = (
            listed.explode("begin")
            .with_columns(part=ends - begins, counts=pl.col("counts") & here)
            .drop("first", "last")
        )
    whole, part = (pl.col(name).dt.total_microseconds() for name in ("whole", "part"))
    rows = cut.with_columns(share=pl.when(whole > 0).then(part / whole).otherwise(1.0))
    kept = rows.filter(pl.col("counts") | (pl.col("share") > 0))
    return kept.drop("ran_from", "ran_to", "whole", "part")


def first_day(zone: Zone, time: str, unit: str | None = None) -> pl.Expr:
    """Return the day of a time, or the first day of its month."""
    day = zone.local(pl.col(time)).dt.date()
    return day.dt.month_start() if unit == "month" else day


def _midnight(day: pl.Expr, zone: Zone) -> pl.Expr:
    """Return the first moment of a day, also where clocks skip midnight."""
    naive = day.cast(pl.Datetime("us"))
    return pl.coalesce(
        naive.dt.offset_by(later)
        .dt.replace_time_zone(zone.name, ambiguous="earliest", non_existent="null")
        .dt.convert_time_zone("UTC")
        for later in ("0h", "1h", "1d")
    )
