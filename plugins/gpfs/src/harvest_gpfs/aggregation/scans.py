"""Which scan a row is of, and which one a question is about.

A dataset may hold many scans of a file system, and sums across them would count every file again
and again.  A scan is known by its ``scan_time``; lists without one are known by ``origin``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import attrs
import polars as pl

from harvest import DatasetError, UsageError
from harvest_toolkit.choices import choices

__all__ = ["ALL", "LATEST", "Scan", "label_of", "moment", "pick"]

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
        """The rows that are of this scan."""
        if self.label == ALL:
            return rows
        if self.origin is not None:
            return rows.filter(pl.col("scan_time").is_null(), pl.col("origin") == self.origin)
        return rows.filter(pl.col("scan_time") == self.time)


def label_of(time: datetime) -> str:
    """A time as text: ``2026-01-11T00:00:00Z``, with microseconds where there are some."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


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
    if wish == LATEST:
        if scans[-1].time is None and len(scans) > 1:
            raise UsageError(
                f"{len(scans)} lists do not say when their scan was made, so that the latest is "
                "not known",
                remedy="harvest them with dates in their names, as scan-20260111.list; scan=all "
                + choices("takes them for parts of one scan; else name one", there),
            )
        return scans[-1]
    fits = [scan for scan in scans if _fits(scan, wish)]
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
