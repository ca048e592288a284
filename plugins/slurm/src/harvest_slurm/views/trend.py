"""The view ``slurm.trend``: groups of jobs month by month, beside the same month a year before."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import attrs
import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import fraction

from .calendar import Period
from .declared.common import RESOURCES, TREND_KEYS
from .groups import groups_of
from .measures import COUNTS, how_they_ended, use, waits
from .period import Selection, selection_of

MEASURES: Final = (
    *("jobs", "cpu_hours", "cpu_wasted_hours", "cpu_eff", "gpu_hours"),
    *("failed_jobs", "failed_share", "mean_wait_s", "days"),
)
"""What there is of each month and of the one a year before."""


def trend(data: DatasetReader, by: str | Iterable[str] = (), **choice: str | None) -> pl.LazyFrame:
    """A row per month, and group if any; ``year_before_*`` are the same of a year before.

    by: names out of KEYS without the month.  choice: which jobs; see ``period.selection_of``.
    The year before is compared where a year later it would be of the period, and not behind the
    last job: a month that is not over is compared with the same days.
    """
    others = groups_of(by, TREND_KEYS) if by else []
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
    """The period of a year before, up to the last moment of which there is something."""
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
    cpu, gpu = (use(resource) for resource in RESOURCES[:2])
    days = pl.col("at").filter(COUNTS).dt.date()
    columns = {
        "jobs": COUNTS.sum().cast(pl.Int64),
        "days": days.drop_nulls().n_unique().cast(pl.Int64),
        **{k: v for k, v in (cpu | gpu | how_they_ended() | waits()).items() if k in MEASURES},
    }
    return rows.group_by(keys).agg(**columns)
