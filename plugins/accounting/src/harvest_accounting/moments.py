"""Moments as users write them: a date, a time, or so long ago."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

_AGO = re.compile(r"(\d{1,6})([smhdw])")
_AGO_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def moment(text: str, zone: ZoneInfo, now: datetime | None = None) -> datetime:
    """A moment from a setting: a date, a date with time, ``now``, ``today``, or ``7d`` ago.

    Raises ValueError for any other text.
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
            f"{text!r} is not a time; write 2024-01-31, 2024-01-31T12:00:00, or 7d for 7 days ago"
        ) from None
    if read.tzinfo is None:
        read = read.replace(tzinfo=zone)
    return read.astimezone(UTC)
