"""Runs divided over the periods that they ran in, so that hours count when they were used.

A part has the share of the run's hours that it has of the time from its start to its end, whatever
suspensions there were: the shares of a run add up to 1.  A run of which this time is not known is
in one part, at the moment at which it counts.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from .calendar import Period, Zone

_STEP: Final = {"month": "1mo", "day": "1d"}


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
