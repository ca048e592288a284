"""Which jobs a view looks at: those of a period, of a user, an account or a cluster.

A job counts at one moment: when it ended; where it has not, when it started, or else when it was
submitted.  So every job counts in one month alone, with all its hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from zoneinfo import ZoneInfo

import attrs
import polars as pl

from harvest import DatasetReader, UsageError

from .calendar import NAMES, Period, period_of
from .jobs import jobs
from .zone import Zone, zone_of

COUNTS_AT: Final = ("end_time", "start_time", "submit_time")
"""The times of a run, of which the first that is known says when it counts."""

WAITED_AT: Final = ("submit_time", "start_time")
"""The same of a wait, which counts on the day that it began."""


@attrs.frozen
class Selection:
    """Which jobs are looked at.

    zone: whose months are counted; period: open unless given.
    only: column -> value that jobs must have.
    """

    zone: Zone
    period: Period = attrs.field(factory=Period)
    only: Mapping[str, str] = attrs.field(factory=dict)

    def jobs(self, data: DatasetReader, at: tuple[str, ...] = COUNTS_AT) -> pl.LazyFrame:
        """Rows of ``slurm.jobs``, with the moment at which each counts (``at``, local time).

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
        return self.of_period(chosen.filter(**self.only)).with_columns(
            self.zone.local(pl.col("at"))
        )

    def of_period(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Those of the rows whose moment (``at``) is in the period."""
        since, until = self.period.since, self.period.until
        at = pl.col("at").dt.convert_time_zone("UTC")
        if since is not None:
            rows = rows.filter(at >= since)
        return rows if until is None else rows.filter(at < until)

    def submitted(self, data: DatasetReader, view: str) -> pl.DataFrame:
        """Rows of a view of jobs that were submitted in the period, with the ``date`` of that."""
        rows = data.view(view, timezone=self.zone.name, **self.only)
        chosen = self.of_period(rows.with_columns(at=pl.coalesce(WAITED_AT)))
        return (
            chosen.with_columns(date=self.zone.local(pl.col("at")).dt.date()).drop("at").collect()
        )

    @property
    def is_bounded(self) -> bool:
        """Whether it leaves out jobs of which no time is known."""
        return self.period.since is not None or self.period.until is not None

    def checked(self, data: DatasetReader, at: tuple[str, ...] = COUNTS_AT) -> Selection:
        """Itself; raises UsageError where the dataset holds such jobs, and none of the period."""
        if not self.is_bounded:
            return self
        rows = data["slurm.job"].filter(**self.only).select(at=pl.coalesce(at))
        inside = self.of_period(rows).select(pl.len()).collect().item()
        if inside:
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


def selection_of(
    data: DatasetReader,
    choice: Mapping[str, str | None],
    at: tuple[str, ...] = COUNTS_AT,
) -> Selection:
    """What the settings of a view choose; raises UsageError for a wrong one.

    choice: ``timezone``, settings of NAMES, which name a period, and columns with the value that
    jobs must have.
    at: the times by which jobs are of a period; one that holds none of the dataset's is refused.
    """
    zone = zone_of(data, choice.get("timezone"))
    given = {name: value for name, value in choice.items() if value is not None}
    given.pop("timezone", None)
    period = period_of({key: given.pop(key) for key in NAMES if key in given}, ZoneInfo(zone.name))
    return Selection(zone, period, given).checked(data, at)
