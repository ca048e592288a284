"""Windows in time and their slices, as settings name them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import attrs

from harvest import SourceError

from .config import SlurmConfig

__all__ = ["ORIGIN", "Window", "moment", "window_of"]

ORIGIN: Final = "slurm:live"
"""What rows of a live cluster name as their origin."""


@attrs.frozen
class Window:
    """A window in time, cut into slices."""

    since: datetime
    until: datetime
    days: int

    def bounds(self) -> list[tuple[datetime, datetime]]:
        """Slices, aligned to whole multiples of their length so that they stay the same."""
        step = timedelta(days=self.days)
        epoch = datetime(1970, 1, 1, tzinfo=UTC)
        start = self.since
        found = []
        while start < self.until:
            stop = min(epoch + ((start - epoch) // step + 1) * step, self.until)
            found.append((start, stop))
            start = stop
        return found


_AGO = re.compile(r"(\d{1,6})([smhdw])")
_AGO_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def moment(text: str, zone: ZoneInfo, now: datetime | None = None) -> datetime:
    """A moment from a setting: a date, a date with time, ``now``, ``today``, or ``7d`` ago.

    Raises ValueError when it is none.
    """
    now = now or datetime.now(UTC)
    if text == "now":
        return now.replace(microsecond=0)
    if text == "today":
        local = now.astimezone(zone)
        return local.replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
    ago = _AGO.fullmatch(text)
    if ago:
        return (now - timedelta(**{_AGO_UNITS[ago[2]]: int(ago[1])})).replace(microsecond=0)
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is no moment; write 2024-01-31, 2024-01-31T12:00:00, or 7d for 7 days ago"
        ) from None
    if read.tzinfo is None:
        read = read.replace(tzinfo=zone)
    return read.astimezone(UTC)


def window_of(config: SlurmConfig, now: datetime | None = None) -> Window:
    """The time window that the settings name."""
    zone = ZoneInfo(config.timezone or "UTC")
    since = moment(config.since or "today", zone, now)
    until = moment(config.until or "now", zone, now)
    if since >= until:
        raise SourceError(
            f"the time window is empty: it begins at {since:%Y-%m-%dT%H:%M:%SZ} and ends at "
            f"{until:%Y-%m-%dT%H:%M:%SZ}",
            where=ORIGIN,
            remedy="set slurm.since and slurm.until",
        )
    return Window(since, until, config.slice_days)
