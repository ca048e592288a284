"""Columns as people see them, in views and in the tables of a report.

A view declares a column by its kind, name and meaning: ``seconds("wall_s", "How long it ran.")``.
The kind sets the type of the values, their unit and their display format. No large library is
imported, so that a module with views is quick to import.
"""

from datetime import datetime
from typing import Any

import attrs

__all__ = [
    "Column", "amount", "count", "flag", "hours", "named", "number", "passed_on", "path", "rate",
    "seconds", "share", "size", "text", "texts", "time",
]  # fmt: skip


@attrs.frozen
class Column:
    """The meaning and display format of a column in a view or in a report's table.

    name: name in the rows, in CSV and in JSON.
    label: name for people; by default ``name``.
    unit: unit of the displayed values: ``s``, ``GB``.
    format: a Python format specification (``,.2f``, ``.1%``, ``%Y-%m-%d``), or one of
        ``duration``: seconds as days-hours:minutes:seconds;
        ``seconds``, ``bytes``, ``share``: in words, as 3.2 ms, 5.00 MiB, 37 %;
        ``path``: if it is too long, its end is kept;
        ``id``: if it is too long, both ends are kept, for an id or an address.
        The default depends on the type of the values.
    doc: its meaning.
    scale: divisor that converts values to the displayed unit (``2**30`` for bytes in GiB). CSV and
        JSON contain the undivided values.
    type: type of the values, in the notation of record types: ``int``, ``list[str]``.
    """

    name: str
    label: str = attrs.field(default=attrs.Factory(lambda self: self.name, takes_self=True))
    unit: str | None = None
    format: str | None = None
    doc: str | None = None
    scale: float = 1
    type: Any = None

    @property
    def shown_unit(self) -> str | None:
        """The unit, unless the displayed values contain it: ``3.2 ms``."""
        return None if self.format in _WITH_UNIT else self.unit

    @property
    def heading(self) -> str:
        """Label and unit: ``mean (s)``."""
        return f"{self.label} ({self.shown_unit})" if self.shown_unit else self.label


_WITH_UNIT = ("duration", "seconds", "bytes", "share")


def text(name: str, doc: str | None = None) -> Column:
    """Declare a column of texts."""
    return Column(name, doc=doc, type=str)


def texts(name: str, doc: str | None = None) -> Column:
    """Declare a column of lists of texts."""
    return Column(name, doc=doc, type=list[str])


def path(name: str, doc: str | None = None) -> Column:
    """Declare a column of paths; if a path is too long, its end is kept."""
    return Column(name, format="path", doc=doc, type=str)


def named(name: str, doc: str | None = None) -> Column:
    """Declare a column of keys, addresses or ids; if one is too long, both ends are kept."""
    return Column(name, format="id", doc=doc, type=str)


def number(name: str, doc: str | None = None, kind: Any = int) -> Column:
    """Declare a column of numbers that identify, as process ids: digits are not grouped."""
    return Column(name, format="d", doc=doc, type=kind)


def count(name: str, doc: str | None = None, unit: str | None = None) -> Column:
    """Declare a column of counts: whole numbers."""
    return Column(name, unit=unit, doc=doc, type=int)


def size(name: str, doc: str | None = None) -> Column:
    """Declare a column of sizes in bytes."""
    return Column(name, unit="bytes", format="bytes", doc=doc, type=int)


def rate(name: str, doc: str | None = None) -> Column:
    """Declare a column of rates in bytes per second."""
    return Column(name, unit="bytes/s", format="bytes", doc=doc, type=float)


def seconds(name: str, doc: str | None = None) -> Column:
    """Declare a column of durations in seconds."""
    return Column(name, unit="s", format="seconds", doc=doc, type=float)


def hours(name: str, doc: str | None = None, unit: str = "h") -> Column:
    """Declare a column of hours, as CPU hours."""
    return Column(name, unit=unit, format=",.1f", doc=doc, type=float)


def share(name: str, doc: str | None = None) -> Column:
    """Declare a column of shares of 1, shown in percent."""
    return Column(name, unit="1", format="share", doc=doc, type=float)


def amount(
    name: str, doc: str | None = None, unit: str | None = None, form: str | None = None
) -> Column:
    """Declare a column of fractional numbers with their own unit."""
    return Column(name, unit=unit, format=form, doc=doc, type=float)


def flag(name: str, doc: str | None = None) -> Column:
    """Declare a column of true or false values."""
    return Column(name, doc=doc, type=bool)


def time(name: str, doc: str | None = None) -> Column:
    """Declare a column of points in time, in UTC."""
    return Column(name, doc=doc, type=datetime)


def passed_on(*names: str) -> tuple[Column, ...]:
    """Declare columns that a required record type declares and explains."""
    return tuple(Column(name) for name in names)
