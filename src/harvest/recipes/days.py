"""Days as an option of a run and the names of directories write them."""

from __future__ import annotations

import re
from datetime import date, datetime

_DAYS_AGO = re.compile(r"([0-9]{1,5})d")
_LAST = re.compile(r"last(?:-([0-9]{1,5})d)?")
_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})|([0-9]{4})([0-9]{2})([0-9]{2})")
_NESTED = re.compile(r"([0-9]{4})/([0-9]{1,2})/([0-9]{1,2})")


def day_of(text: str, last: date | None = None) -> date | None:
    """The day that ``2026-11-03``, ``7d`` (days ago), ``last`` or ``last-7d`` means.

    last: the day of the last run.  None where a text means no day.
    """
    ago, before_last = _DAYS_AGO.fullmatch(text), _LAST.fullmatch(text)
    if ago is not None:
        return _earlier(datetime.now().astimezone().date(), int(ago[1]))
    if before_last is not None:
        return None if last is None else _earlier(last, int(before_last[1] or 0))
    found = _DAY.fullmatch(text)
    return _date(found) if found else None


def is_since_last(text: str) -> bool:
    """Whether a text means a day by that of the last run."""
    return _LAST.fullmatch(text) is not None


def day_of_directory(path: str) -> date | None:
    """The day that a directory is named for, by its name and those of the two above it."""
    *_, year, month, day = ("", "", "", *path.split("/"))
    found = _DAY.fullmatch(day) or _NESTED.fullmatch(f"{year}/{month}/{day}")
    return _date(found) if found else None


def _earlier(day: date, days: int) -> date:
    return date.fromordinal(max(1, day.toordinal() - days))


def _date(found: re.Match[str]) -> date | None:
    try:
        return date(*(int(text) for text in found.groups() if text is not None))
    except ValueError:
        return None
