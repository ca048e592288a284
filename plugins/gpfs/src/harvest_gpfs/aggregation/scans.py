"""Scans of a dataset, and the interface for computing results from their rows.

A dataset may contain many scans of a file system, and sums across them would count every file
repeatedly. A scan is identified by its ``scan_time``, or by ``origin`` if the list has no time.

Every computation on a scan is a :class:`Step`: it computes a partial result per part, and combines
partial results. Sums of integers, minima and maxima do not depend on how rows are divided, so all
backends return the same result.
"""

import abc
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import ClassVar, Protocol, Self

import attrs
import polars as pl

from harvest import DatasetError, UsageError
from harvest_toolkit.choices import choices

LATEST = "latest"
ALL = "all"


@attrs.frozen
class Scan:
    """A scan, or several lists treated as one scan.

    label: display name: its time, or the path of its list, or ``all``.
    time: time of the scan, None if no list records it; for several scans the newest.
    origin: path of the list, if the scan is identified by it.
    rows: number of rows.
    """

    label: str
    time: datetime | None
    origin: str | None
    rows: int

    def filter(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        if self.label == ALL:
            return rows
        if self.origin is not None:
            return rows.filter(pl.col("scan_time").is_null(), pl.col("origin") == self.origin)
        return rows.filter(pl.col("scan_time") == self.time)


def label_of(time: datetime) -> str:
    """Format a time: ``2026-01-11T00:00:00Z``, with microseconds if not zero."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def day(label: str) -> str:
    """Format a scan's label for tables: ``2026-01-11`` if the scan was made at midnight."""
    return label.removesuffix("Z").removesuffix("T00:00:00").replace("T", " ")


def moment(text: str | datetime) -> datetime:
    """Parse a time such as ``2026-01-11`` or ``2026-01-11T12:00:00Z``; without a zone, it is UTC.

    Raises UsageError for any other text, and outside of the years 1000 to 8999.
    """
    try:
        time = text if isinstance(text, datetime) else datetime.fromisoformat(text.strip())
    except ValueError:
        time = None
    # ages reach up to 548 years back from it
    if time is None or not 1000 <= time.year < 9000:
        raise UsageError(
            f"{text!r} is not a time in the years 1000 to 8999",
            remedy="write 2026-01-11 or 2026-01-11T12:00:00Z",
        )
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)


def pick(scans: Sequence[Scan], wish: str = LATEST) -> Scan:
    """Select a scan by name.

    scans: all scans, oldest first, after those without a time.
    wish: ``latest``; ``all``, which treats all rows as parts of one scan; a time, or the beginning
        of one (``2026-01``); an origin, or the end of one.

    Raises UsageError if no scan or several scans match, and for ``latest`` if there are several
    lists without a time; DatasetError without rows.
    """
    if not scans:
        raise DatasetError("no rows of gpfs.file", remedy="harvest a policy list first")
    there = [scan.label for scan in scans]
    if wish == ALL:
        times = [scan.time for scan in scans if scan.time is not None]
        return Scan(ALL, max(times, default=None), None, sum(scan.rows for scan in scans))
    if wish == LATEST and scans[-1].time is None and len(scans) > 1:
        raise UsageError(
            f"{len(scans)} lists have no time of their scan, so the latest is unknown",
            remedy="harvest them with dates in their names, as scan-20260111.list; scan=all "
            + choices("takes them for parts of one scan; else name one", there),
        )
    fits = [scans[-1]] if wish == LATEST else [scan for scan in scans if _fits(scan, wish)]
    if len(fits) == 1:
        return fits[0]
    found = "no scan is" if not fits else f"{len(fits)} scans are"
    raise UsageError(
        f"{found} {wish!r}",
        remedy=choices("write latest, all, or one of", [s.label for s in fits] or there),
    )


def _fits(scan: Scan, wish: str) -> bool:
    if scan.origin is not None:
        return scan.origin == wish or scan.origin.endswith("/" + wish.lstrip("/"))
    return scan.label.startswith(wish.strip().replace(" ", "T"))


class Step(abc.ABC):
    """A computation on rows; picklable, since other processes may run it on parts.

    on_device: whether it can run on a GPU.
    """

    on_device: ClassVar[bool] = True

    @abc.abstractmethod
    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Compute the partial result of some rows."""

    def combine(self, partials: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        """Combine partial results of several parts into one; by default all their rows."""
        return pl.concat(partials)

    def finish(self, partial: pl.LazyFrame) -> pl.LazyFrame:
        """Compute the result from the partial result of all rows; by default they are equal."""
        return partial


class Rows(Protocol):
    """Rows of ``gpfs.file``, and the backend that computes results from them."""

    def reduce(self, step: Step) -> pl.DataFrame:
        """Compute the result of a step over all rows."""

    def of(self, scan: Scan) -> Self:
        """Select the rows of one scan."""


@attrs.frozen
class Counts(Step):
    """Step that counts the rows of each value of a column.

    among: test of the rows to count; default: all. least: minimum count of a value.
    """

    by: str
    among: pl.Expr | None = None
    least: int = 1

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        rows = rows if self.among is None else rows.filter(self.among)
        return rows.group_by(self.by).agg(pl.len().cast(pl.Int64).alias("rows"))

    def combine(self, partials: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        return pl.concat(partials).group_by(self.by).agg(pl.col("rows").sum())

    def finish(self, partial: pl.LazyFrame) -> pl.LazyFrame:
        return partial.filter(pl.col("rows") >= self.least)


@attrs.frozen
class Extent(Step):
    """Step that finds the first and the last path in byte order; null without rows.

    of: ``path``, or ``origin`` for the paths of lists. apart_from: a path that is ignored.
    """

    of: str = "path"
    apart_from: str | None = None

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        if self.apart_from is not None:
            rows = rows.filter(pl.col(self.of) != self.apart_from)
        return rows.select(first=pl.col(self.of).min(), last=pl.col(self.of).max())

    def combine(self, partials: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        return pl.concat(partials).select(pl.col("first").min(), pl.col("last").max())
