"""Which jobs a view looks at: those of a period, of a user, an account or a cluster.

A job counts at one moment: when it ended; where it has not, when it started, or else when it was
submitted.  So every job counts in one month alone, with all its hours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

import attrs
import polars as pl

from harvest import DatasetReader, UsageError

from ..config import moment
from .jobs import jobs
from .zone import Zone, zone_of

_MONTH: Final = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")


@attrs.frozen
class Selection:
    """Which jobs are looked at.

    zone: whose months are counted; since, until: the period, None where it is open.
    only: column -> value that jobs must have.
    """

    zone: Zone
    since: datetime | None = None
    until: datetime | None = None
    only: Mapping[str, str] = attrs.field(factory=dict)

    def jobs(self, data: DatasetReader) -> pl.LazyFrame:
        """Rows of ``slurm.jobs``, with the moment at which each counts (``at``, local time).

        ``again`` says that the job was run once more after this run; null where it is not known
        which of its runs this is.  ``run_again`` is null, too, where runs that were repeated may
        be missing, as without ``--duplicates``: where the cluster has no job of several runs.
        """
        run, job = pl.col("restart"), ("cluster", "job_id")
        all_known = run.is_not_null().all().over(job)
        again = pl.when(all_known).then(run < run.max().over(job))
        several = (pl.len().over(job) > 1).alias("several")
        chosen = jobs(data).with_columns(
            several, at=pl.coalesce("end_time", "start_time", "submit_time"), again=again
        )
        listed = pl.col("several").any().over("cluster") | (pl.col("restarts") == 0)
        chosen = chosen.with_columns(run_again=pl.when(listed).then("again")).drop("several")
        chosen = chosen.filter(**self.only)
        if self.since is not None:
            chosen = chosen.filter(pl.col("at") >= self.since)
        if self.until is not None:
            chosen = chosen.filter(pl.col("at") < self.until)
        return chosen.with_columns(self.zone.local(pl.col("at")))

    @property
    def is_bounded(self) -> bool:
        """Whether it leaves out jobs of which no time is known."""
        return self.since is not None or self.until is not None


def selection_of(
    data: DatasetReader,
    timezone: str | None = None,
    since: str | None = None,
    until: str | None = None,
    month: str | None = None,
    **only: str | None,
) -> Selection:
    """What the settings of a view choose; raises UsageError for a wrong one."""
    zone = zone_of(data, timezone)
    if month is not None and (since is not None or until is not None):
        raise UsageError(
            "month and since or until name two periods", remedy="give month alone, or the others"
        )
    begin = _moment("since", since, zone)
    end = _moment("until", until, zone)
    if month is not None:
        begin, end = _bounds_of(month, zone)
    if begin is not None and end is not None and begin >= end:
        raise UsageError(
            f"the period is empty: it begins at {begin:%Y-%m-%dT%H:%M:%SZ} and ends at "
            f"{end:%Y-%m-%dT%H:%M:%SZ}",
            remedy="set since and until",
        )
    chosen = {name: value for name, value in only.items() if value is not None}
    return Selection(zone, begin, end, chosen)


def _moment(name: str, text: str | None, zone: Zone) -> datetime | None:
    if text is None:
        return None
    try:
        return moment(text, ZoneInfo(zone.name))
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None


def _bounds_of(month: str, zone: Zone, now: datetime | None = None) -> tuple[datetime, datetime]:
    """The first moment of a month, and of the one behind it."""
    here = ZoneInfo(zone.name)
    today = (now or datetime.now(UTC)).astimezone(here)
    named = _MONTH.fullmatch(month)
    if named:
        number = int(named[1]) * 12 + int(named[2]) - 1
    elif month in ("this", "last"):
        number = today.year * 12 + today.month - 1 - (month == "last")
    else:
        raise UsageError(
            f"month={month!r} is not a month", remedy="write 2024-01, `this` or `last`"
        )
    first, following = (
        datetime(n // 12, n % 12 + 1, 1, tzinfo=here).astimezone(UTC) for n in (number, number + 1)
    )
    return first, following
