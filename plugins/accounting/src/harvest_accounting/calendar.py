"""Periods in the words of settings (``year=2024``, ``from`` and ``to``), and their time zone."""

import re
from calendar import monthrange
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

import attrs
import polars as pl

from harvest import DatasetError, UsageError

from .job_runs import Jobs

NAMES: Final = ("year", "quarter", "month", "last", "from", "to", "since", "until")
"""The settings that describe a period."""

_Bounds: TypeAlias = "tuple[datetime | None, datetime | None]"

_MONTHS: Final = {"year": 12, "quarter": 3, "month": 1}
_DAYS: Final = {"week": 7, "day": 1}
_DATE: Final = re.compile(r"([12]\d{3})(?:-?(?:Q([1-4])|(0[1-9]|1[0-2])))?", re.IGNORECASE)
_DAY: Final = re.compile(r"today|\d{4}-?\d\d-?\d\d")
_AGO: Final = re.compile(r"(\d{1,6})([smhdw])")
_AGO_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_COUNT: Final = re.compile(r"(\d{1,4})[ -]?(year|quarter|month|week|day)s?")
_EXAMPLES: Final = {
    "year": "2024",
    "quarter": "2024-Q1",
    "month": "2024-01",
    "last": "month, year, 30d, 12w or `6 months`",
}


@attrs.frozen
class Zone:
    """A time zone: its name, and a sentence that says why it applies."""

    name: str
    why: str

    def local(self, time: pl.Expr) -> pl.Expr:
        """Convert times to the clock of this zone."""
        return time.dt.convert_time_zone(self.name)


def zone_of(jobs: Jobs, wanted: str | None) -> Zone:
    """Choose the time zone: the wanted one, else that of the harvest; UTC if there were several.

    Raises UsageError for an unknown zone.
    """
    if wanted is not None:
        try:
            ZoneInfo(wanted)
        except (ValueError, OSError, KeyError):
            raise UsageError(
                f"{wanted!r} is not a known time zone",
                remedy="write Europe/Zurich, for example, or UTC",
            ) from None
        return Zone(wanted, f"Days and months are in the time zone {wanted}, your choice.")
    in_utc = "days and months are in UTC. Choose a zone with timezone=ZONE."
    sources = [runs.source for runs in jobs.schedulers if runs.source]
    try:
        given = [jobs.data.harvested_with(source, "timezone") for source in sources]
    except DatasetError as lost:
        return Zone("UTC", f"The time zone of the harvest is unknown ({lost.message}): {in_utc}")
    zones = sorted({zone or "UTC" for each in given for zone in each})
    if len(zones) > 1:
        return Zone(
            "UTC",
            f"The jobs were harvested with several time zones ({', '.join(zones)}): {in_utc}",
        )
    name = zones[0] if zones else "UTC"
    return Zone(name, f"Days and months are in the time zone {name}, that of the harvest.")


@attrs.frozen
class Period:
    """A period: its first moment, the first moment after it (None marks an open end), its name."""

    since: datetime | None = None
    until: datetime | None = None
    name: str = ""

    def days(self, zone: str) -> tuple[date | None, date | None]:
        """Return the first and the last day; None at an open end."""
        here = ZoneInfo(zone)
        first = self.since and self.since.astimezone(here).date()
        # the end is not part of the period
        last = self.until and (self.until - timedelta(microseconds=1)).astimezone(here).date()
        return first, last

    def in_words(self, zone: str) -> str:
        """Describe the period: ``last=year (2024-01-01 to 2024-12-31)``."""
        first, last = self.days(zone)
        ends = f"{f'from {first} on' if first else ''}{f'until {last}' if last else ''}"
        return f"{self.name} ({f'{first} to {last}' if first and last else ends})"


def period_of(given: Mapping[str, str], zone: ZoneInfo, now: datetime | None = None) -> Period:
    """Build the period that the settings of NAMES describe; without any, both ends are open.

    Raises UsageError for settings that describe no period, or two periods.
    """
    today = (now or datetime.now(UTC)).astimezone(zone)
    whole = [name for name in NAMES[:4] if name in given]
    name = ", ".join(f"{key}={given[key]}" for key in NAMES if key in given)
    twice = [pair for pair in (("from", "since"), ("to", "until")) if set(pair) <= given.keys()]
    if len(whole) > 1 or (whole and len(given) > 1) or twice:
        raise UsageError(
            f"{name} name two periods",
            remedy="set one of year, quarter, month and last, or a start (from or since) and an "
            "end (to or until)",
        )
    if whole:
        return Period(*_whole(whole[0], given[whole[0]], today), name)
    begin, end = None, None
    for key, value in given.items():
        bounds = _bounds_of(key, value, zone, today)
        if key in ("from", "since"):
            begin = bounds[0]
        else:
            # `to` names the last day, month or year of the period; `until` the end itself
            end = bounds[key == "to"]
    if begin is not None and end is not None and begin >= end:
        raise UsageError(
            f"the period is empty: it starts at {begin:%Y-%m-%dT%H:%M:%SZ} and ends at "
            f"{end:%Y-%m-%dT%H:%M:%SZ}",
            remedy="set since and until, or from and to",
        )
    return Period(begin, end, name)


def _whole(key: str, text: str, today: datetime) -> _Bounds:
    if key == "last":
        return _last(text, today)
    length = _MONTHS[key]
    if text in ("this", "last"):
        current = _number(today) // length * length
        return _months(current - length * (text == "last"), length, today)
    named = _named(text)
    if named is None or named[1] != length:
        raise UsageError(
            f"{key}={text!r} is not a {key}", remedy=f"write {_EXAMPLES[key]}, `this` or `last`"
        )
    return _months(*named, today)


def _last(text: str, today: datetime) -> _Bounds:
    """Return the last whole year, month, week or day, or a number of them up to now."""
    if text in _MONTHS:
        return _whole(text, "last", today)
    midnight = today.replace(hour=0, minute=0, second=0, microsecond=0)
    if text in _DAYS:
        days = _DAYS[text]
        end = midnight - timedelta(days=midnight.weekday() if text == "week" else 0)
        return (end - timedelta(days=days)).astimezone(UTC), end.astimezone(UTC)
    if _AGO.fullmatch(text):
        return _bounds_of("last", text, ZoneInfo("UTC"), today)[0], None
    counted = _COUNT.fullmatch(text)
    if counted is None:
        raise UsageError(f"last={text!r} is not a period", remedy=f"write {_EXAMPLES['last']}")
    amount, unit = int(counted[1]), counted[2]
    if unit in _DAYS:
        return (today - timedelta(days=amount * _DAYS[unit])).astimezone(UTC), None
    year, month = divmod(_number(today) - amount * _MONTHS[unit], 12)
    if year < 1:
        raise UsageError(f"last={text!r} starts before the year 1", remedy="write a smaller number")
    day = min(today.day, monthrange(year, month + 1)[1])
    return today.replace(year=year, month=month + 1, day=day).astimezone(UTC), None


def _bounds_of(key: str, text: str, zone: ZoneInfo, today: datetime) -> _Bounds:
    """Return the start of a year, month or day and of the next one; of a time, itself twice."""
    named = _named(text)
    if named:
        return _months(*named, today)
    try:
        begin = moment(text, zone, today.astimezone(UTC))
    except ValueError as error:
        raise UsageError(f"{key}: {error}") from None
    if _DAY.fullmatch(text) is None:
        return begin, begin
    # not a day after `begin`, which is 1 o'clock where the clocks skip midnight
    following = begin.astimezone(zone).date() + timedelta(days=1)
    return begin, moment(f"{following}", zone)


def moment(text: str, zone: ZoneInfo, now: datetime | None = None) -> datetime:
    """Parse a time from a setting: a date, a date with time, ``now``, ``today``, or ``7d`` (ago).

    Raises ValueError for any other text.
    """
    now = now or datetime.now(UTC)
    if text == "now":
        return now.replace(microsecond=0)
    if text == "today":
        local = now.astimezone(zone)
        return local.replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
    ago = _AGO.fullmatch(text)
    try:
        if ago:
            return (now - timedelta(**{_AGO_UNITS[ago[2]]: int(ago[1])})).replace(microsecond=0)
        read = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise ValueError(
            f"{text!r} is not a time; write 2024-01-31, 2024-01-31T12:00:00, or 7d for 7 days ago"
        ) from None
    if not 1000 <= read.year <= 3000:
        raise ValueError(f"{text!r} is not in the years 1000 to 3000")
    if read.tzinfo is None:
        read = read.replace(tzinfo=zone)
    return read.astimezone(UTC)


def _number(day: datetime) -> int:
    """Count the months since the year 0."""
    return day.year * 12 + day.month - 1


def _named(text: str) -> tuple[int, int] | None:
    """Return the first month of a year, quarter or month, and its number of months."""
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    quarter, month = int(found[2] or 1), int(found[3] or 1)
    length = 3 if found[2] else 1 if found[3] else 12
    return int(found[1]) * 12 + (quarter - 1) * 3 + month - 1, length


def _months(first: int, length: int, today: datetime) -> _Bounds:
    """Return the first moments of a month and of the month ``length`` months later."""
    begin, end = (
        datetime(month // 12, month % 12 + 1, 1, tzinfo=today.tzinfo).astimezone(UTC)
        for month in (first, first + length)
    )
    return begin, end
