"""Which jobs a view looks at: those of a period, of a user, an account or a cluster.

A job counts at one moment: when it ended; where it has not, when it started, or else when it was
submitted.  So every job counts in one month alone; its hours are divided over those it ran in.
A part has the share of the run's hours that it has of the time from its start to its end, whatever
suspensions there were: the shares of a run add up to 1.  A run of which this time is not known is
in one part, at the moment at which it counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

import attrs
import polars as pl

from harvest import DatasetReader, UsageError

from .calendar import NAMES, Period, Zone, period_of, zone_of
from .jobs import jobs
from .possible import ran_until
from .steps import ended

COUNTS_AT: Final = ("end_time", "start_time", "submit_time")
"""The times of a run, of which the first that is known says when it counts."""

_STEP: Final = {"month": "1mo", "day": "1d"}

WAITED_AT: Final = ("submit_time", "start_time")
"""The same of a wait, which counts on the day that it began."""


@attrs.frozen
class Selection:
    """Which jobs are looked at.

    zone: whose months are counted; period: open unless given.
    only: column -> value that jobs must have.
    split: over what hours are divided: ``month``, ``day``, or ``none``, and all count where the
    run does; None for what rows are of.
    """

    zone: Zone
    period: Period = attrs.field(factory=Period)
    only: Mapping[str, str] = attrs.field(factory=dict)
    split: str | None = None

    def jobs(self, data: DatasetReader, at: tuple[str, ...] = COUNTS_AT) -> pl.LazyFrame:
        """Rows of ``slurm.jobs`` that count in the period, as those of ``runs``."""
        counted = self.runs(data, at).filter(within(self.period))
        return counted.with_columns(self.zone.local(pl.col("at"))).drop("ran_until")

    def parts(self, data: DatasetReader, by: Collection[str] = ()) -> pl.LazyFrame:
        """Rows of ``runs``, those that ran in several periods divided: see ``parts``.

        by: what they are grouped by, of which ``month`` and ``day`` are columns of theirs.
        """
        unit = "day" if "day" in by else "month" if "month" in by else None
        if unit == "day" and self.split == "month":
            raise UsageError(
                "split=month divides hours over months, and by=day asks for days",
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

    def runs(self, data: DatasetReader, at: tuple[str, ...] = COUNTS_AT) -> pl.LazyFrame:
        """Runs of any time, with the moment at which each counts (``at``).

        at: the times of which the first that is known is this moment.

        ``again`` says that the job was run once more after this run; null where it is not known
        which of its runs this is.  ``run_again`` is null, too, where runs that were repeated may
        be missing, as without ``--duplicates``: where the cluster has no job of several runs.
        """
        run, job = pl.col("restart"), ("cluster", "job_id")
        all_known = run.is_not_null().all().over(job)
        again = pl.when(all_known).then(run < run.max().over(job))
        several = (pl.len().over(job) > 1).alias("several")
        chosen = jobs(data).with_columns(several, at=pl.coalesce(at), again=again)
        listed = pl.col("several").any().over("cluster") | (pl.col("restarts") == 0)
        chosen = chosen.with_columns(run_again=pl.when(listed).then("again")).drop("several")
        return chosen.filter(**self.only)

    @property
    def is_bounded(self) -> bool:
        """Whether it leaves out jobs of which no time is known."""
        return self.period.since is not None or self.period.until is not None

    def checked(self, data: DatasetReader, at: tuple[str, ...] | None) -> Selection:
        """Itself; raises UsageError where the dataset holds such jobs, and none of the period.

        at: the times by which jobs are of it; None where they are if they ran in it.
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
            kinds = "".join(f" of {name} {value}" for name, value in self.only.items())
            whole = f"from {first} to {last}" if first != last else f"of {first}"
            raise UsageError(
                f"the dataset holds no jobs{kinds} of {self.period.in_words(self.zone.name)}",
                remedy=f"it holds jobs{kinds} {whole} ({self.zone.name}): write from={first} "
                f"to={last}, or year={last:%Y}",
            )
        return self

    def last(self, data: DatasetReader) -> datetime | None:
        """The last moment in the period of which the dataset holds something."""
        rows = spans(self._moments(data, COUNTS_AT), self.period)
        inside = pl.col("ran_to").clip(None, self.period.until)
        return rows.select(inside.max()).collect().item()  # type: ignore[no-any-return]

    def _moments(self, data: DatasetReader, at: tuple[str, ...]) -> pl.LazyFrame:
        return (
            data["slurm.job"]
            .filter(**self.only)
            .select("start_time", at=pl.coalesce(at), ran_until=ran_until(ended()))
        )


def selection_of(
    data: DatasetReader, choice: Mapping[str, str | None], at: tuple[str, ...] | None = COUNTS_AT
) -> Selection:
    """What the settings of a view choose; raises UsageError for a wrong one.

    choice: ``timezone``, ``split``, settings of NAMES, which name a period, and columns with the
    value that jobs must have.
    at: the times by which jobs are of a period, None where they are if they ran in it; one that
    holds none of the dataset's is refused.
    """
    zone = zone_of(data, choice.get("timezone"))
    given = {name: value for name, value in choice.items() if value is not None}
    given.pop("timezone", None)
    split = given.pop("split", None)
    period = period_of({key: given.pop(key) for key in NAMES if key in given}, ZoneInfo(zone.name))
    if split == "none" and at is None:
        at = COUNTS_AT
    return Selection(zone, period, given, split).checked(data, at)


def within(period: Period) -> pl.Expr:
    """Whether a run counts in a period, by the moment ``at``."""
    at = pl.col("at").dt.convert_time_zone("UTC")
    since = pl.lit(value=True) if period.since is None else at >= period.since
    return since if period.until is None else since & (at < period.until)


def spans(runs: pl.LazyFrame, period: Period) -> pl.LazyFrame:
    """The runs that count in a period or ran in it; ``ran_from`` and ``ran_to`` say when.

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
    """The parts of the runs that are in a period.

    unit: ``month`` or ``day``, over which they are divided; None for the whole period.
    ``begin`` is the first day of the month, or the day; ``share`` the part of the run's hours;
    ``counts`` whether the run counts there.  A run that counts where it has no hours, as one that
    ended with the month before, has a part there with a share of 0.
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
        # the ends are those of the run, whatever the clocks do: so the parts add up to it
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
    """The first day of the month, or the day, that a moment is in."""
    day = zone.local(pl.col(time)).dt.date()
    return day.dt.month_start() if unit == "month" else day


def _midnight(day: pl.Expr, zone: Zone) -> pl.Expr:
    """The moment that a day begins; where clocks skip midnight, the first behind it."""
    naive = day.cast(pl.Datetime("us"))
    return pl.coalesce(
        naive.dt.offset_by(later)
        .dt.replace_time_zone(zone.name, ambiguous="earliest", non_existent="null")
        .dt.convert_time_zone("UTC")
        for later in ("0h", "1h", "1d")
    )
