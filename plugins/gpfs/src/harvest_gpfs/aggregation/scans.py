"""Which scan a row is of, and what rows are asked.

A dataset may hold many scans of a file system, and sums across them would count every file again
and again.  A scan is known by its ``scan_time``; lists without one are known by ``origin``.

Every question to a scan is a :class:`Step`: a partial result per part, and how partial results
combine.  Sums of whole numbers, smallest and largest values do not depend on how rows are divided,
so every backend comes to the same result.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import ClassVar, Protocol

import attrs
import polars as pl

from harvest import DatasetError, UsageError
from harvest_toolkit.choices import choices

LATEST = "latest"
ALL = "all"


@attrs.frozen
class Scan:
    """A scan, or several lists taken for one.

    label: as people name it: its time, else the path of its list, else ``all``.
    time: when it was made, None where no list says; of several the newest.
    origin: the list it is, where it is known by that.
    rows: how many rows it has.
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
    """A time as text: ``2026-01-11T00:00:00Z``, with microseconds where there are some."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def day(label: str) -> str:
    """A scan as a table names it: ``2026-01-11`` where it was made at midnight."""
    return label.removesuffix("Z").removesuffix("T00:00:00").replace("T", " ")


def moment(text: str | datetime) -> datetime:
    """A time from ``2026-01-11`` or ``2026-01-11T12:00:00Z``; UTC where no zone is given.

    Raises UsageError for another text.
    """
    try:
        time = text if isinstance(text, datetime) else datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"{text!r} is not a time", remedy="write 2026-01-11 or 2026-01-11T12:00:00Z"
        ) from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)


def pick(scans: Sequence[Scan], wish: str = LATEST) -> Scan:
    """The scan that is meant.

    scans: those there are, oldest first, those without a time before all others.
    wish: ``latest``; ``all``, which takes all rows for parts of one scan; a time, or the beginning
        of one (``2026-01``); an origin, or its end.

    Raises UsageError for a wish that fits no scan or several, and for ``latest`` where no list
    says its time and there are several; DatasetError without rows.
    """
    if not scans:
        raise DatasetError("no rows of gpfs.file", remedy="harvest a policy list first")
    there = [scan.label for scan in scans]
    if wish == ALL:
        times = [scan.time for scan in scans if scan.time is not None]
        return Scan(ALL, max(times, default=None), None, sum(scan.rows for scan in scans))
    if wish == LATEST and scans[-1].time is None and len(scans) > 1:
        raise UsageError(
            f"{len(scans)} lists have no time of their scan, so the latest is known",
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
    """A question to rows; picklable, since it may be put to parts in other processes.

    on_device: whether a GPU can do it.
    """

    on_device: ClassVar[bool] = True

    @abc.abstractmethod
    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """The partial result of some rows."""

    @abc.abstractmethod
    def combine(self, partials: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        """Partial results of several parts as that of all of them."""

    def finish(self, partial: pl.LazyFrame) -> pl.LazyFrame:
        """The result, from the partial result of all rows: unless said otherwise, that itself."""
        return partial


class Rows(Protocol):
    """The rows of ``gpfs.file`` that are asked, and the backend that answers."""

    def reduce(self, step: Step) -> pl.DataFrame:
        """The result of a step over all rows."""

    def of(self, scan: Scan) -> Rows:
        """The rows of one scan alone."""


@attrs.frozen
class Counts(Step):
    """The values of a column, and the number of rows of each."""

    by: str

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        return rows.group_by(self.by).agg(pl.len().cast(pl.Int64).alias("rows"))

    def combine(self, partials: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        return pl.concat(partials).group_by(self.by).agg(pl.col("rows").sum())


class Untimed(Counts):
    """The same of the rows that have no scan_time."""

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        return super().partial(rows.filter(pl.col("scan_time").is_null()))


@attrs.frozen
class Extent(Step):
    """The first and the last path in the order of their bytes; null without rows.

    apart_from: a path that is left out.
    """

    apart_from: str | None = None

    def partial(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        if self.apart_from is not None:
            rows = rows.filter(pl.col("path") != self.apart_from)
        return rows.select(pl.col("path").min().alias("first"), pl.col("path").max().alias("last"))

    def combine(self, partials: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        return pl.concat(partials).select(pl.col("first").min(), pl.col("last").max())
