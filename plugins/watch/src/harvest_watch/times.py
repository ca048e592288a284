"""When to run: ``15m``, ``1h``, ``1d`` or a cron expression, for cron and for systemd.

If both day of month and day of week are restricted, cron matches a day when either matches. If one
of them begins with ``*``, both must match (crontab(5)). systemd always requires both
(systemd.time(7)), but accepts several calendars.
"""

import re
from collections.abc import Sequence
from typing import Self

import attrs

from harvest import UsageError

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_MOST_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@attrs.frozen
class _Field:
    name: str
    first: int
    last: int
    names: Sequence[str] = ()

    def values(self, text: str) -> frozenset[int]:
        """Return the numbers that a field of a cron expression matches."""
        found: set[int] = set()
        for item in text.split(","):
            span, slash, step = item.partition("/")
            low, dash, high = span.partition("-")
            if span == "*":
                first, last = self.first, self.last
            else:
                first = self._number(low, text)
                last = self._number(high, text) if dash else first
                if slash and not dash:
                    raise self._wrong(text, "write a range before the step, or *")
            if first > last:
                raise self._wrong(text, "write the smaller number first")
            if slash and not re.fullmatch("[1-9][0-9]{0,2}", step):
                raise self._wrong(text, "a step is a whole number from 1")
            found.update(range(first, last + 1, int(step) if slash else 1))
        return frozenset(found)

    def _number(self, text: str, whole: str) -> int:
        if text.lower() in self.names:
            return self.names.index(text.lower()) + self.first
        if re.fullmatch("[0-9]{1,2}", text) and self.first <= int(text) <= self.last:
            return int(text)
        raise self._wrong(whole, f"{self.first} to {self.last} are allowed")

    def _wrong(self, text: str, remedy: str) -> UsageError:
        return UsageError(f"the {self.name} of the cron expression is {text!r}", remedy=remedy)


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, 7, _DAYS),
)


@attrs.frozen
class Times:
    """Points in time, as a cron expression of five fields.

    words: the text that the user wrote.
    """

    words: str
    cron: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``15m``, ``6h``, ``1d``, ``1w``, ``@daily`` or five fields; raises UsageError."""
        words = " ".join(text.split())
        if interval := re.fullmatch("([1-9][0-9]{0,3})([mhdw])", words):
            return cls(words, _even(int(interval[1]), interval[2], words))
        times = cls(words, _MACROS.get(words, words))
        times.sets()
        return times

    def sets(self) -> tuple[frozenset[int], ...]:
        """Minutes, hours, days of the month, months, days of the week (0 to 6, from Sunday)."""
        fields = self.cron.split(" ")
        if len(fields) != len(_FIELDS):
            raise UsageError(
                f"{self.words!r} says no time",
                remedy="write 15m, 1h, 1d, 1w or a cron expression: "
                '"MINUTE HOUR DAY MONTH WEEKDAY"',
            )
        found = [field.values(text) for field, text in zip(_FIELDS, fields, strict=True)]
        found[4] = frozenset(day % 7 for day in found[4])
        _, _, days, months, _ = found
        if min(days) > max(_MOST_DAYS[month - 1] for month in months) and not self._either_day:
            raise UsageError(f"{self.words!r} never comes", remedy="no such month has that day")
        return tuple(found)

    @property
    def _either_day(self) -> bool:
        _, _, day, _, weekday = self.cron.split(" ")
        return not day.startswith("*") and not weekday.startswith("*")

    def calendars(self) -> list[str]:
        """Convert to values of ``OnCalendar=``; a time matches if any of them does."""
        minutes, hours, days, months, weekdays = self.sets()
        of_week = ",".join(_DAYS[n].capitalize() for n in sorted(weekdays))
        of_week = "" if len(weekdays) == 7 else f"{of_week} "
        month, day = _enumerate(months, 12), _enumerate(days, 31)
        clock = f"{_enumerate(hours, 24)}:{_enumerate(minutes, 60)}:00"
        if self._either_day:
            return [f"*-{month}-{day} {clock}", f"{of_week}*-{month}-* {clock}"]
        return [f"{of_week}*-{month}-{day} {clock}"]


def _enumerate(values: frozenset[int], most: int) -> str:
    return "*" if len(values) == most else ",".join(f"{n:02d}" for n in sorted(values))


def _even(count: int, unit: str, words: str) -> str:
    """Return the cron expression of an interval: a part of an hour or day, a day, or a week."""
    if unit == "m" and 60 % count == 0:
        return f"{_every(count, 60)} * * * *"
    if unit == "h" and 24 % count == 0:
        return f"0 {_every(count, 24)} * * *"
    if (unit, count) == ("d", 1):
        return "0 0 * * *"
    if (unit, count) == ("w", 1):
        return "0 0 * * 0"
    raise UsageError(
        f"{words!r} does not divide an hour or a day evenly",
        remedy="choose minutes that divide 60, hours that divide 24, 1d or 1w; "
        "or write a cron expression",
    )


def _every(count: int, most: int) -> str:
    return "*" if count == 1 else "0" if count == most else f"*/{count}"
