"""Columns as people meet them: in views, and in the tables of a report.

A view declares a column by its kind, its name and its meaning: ``seconds("wall_s", "How long it
ran.")``.  The kind gives the type of the values, their unit and how people are shown them.  Nothing
heavy is imported, so that a module that declares views stays quick to import.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import attrs

__all__ = [
    "Column", "amount", "count", "flag", "hours", "named", "number", "passed_on", "path", "rate",
    "seconds", "share", "size", "text", "texts", "time",
]  # fmt: skip


@attrs.frozen
class Column:
    """What a column of a view or of a report's table means, and how people are shown it.

    name: in the rows, in CSV and in JSON.
    label: for people; the name unless given.
    unit: of the values as they are shown: ``s``, ``GB``.
    format: a Python format specification (``,.2f``, ``.1%``, ``%Y-%m-%d``), or one of
        ``duration``: seconds as days-hours:minutes:seconds;
        ``seconds``, ``bytes``, ``share``: in words, as 3.2 ms, 5.00 MiB, 37 %;
        ``path``: where it is too long, its end is kept;
        ``id``: where it is too long, both its ends are kept, as of an id or an address.
        By the type of the values unless given.
    doc: its meaning.
    scale: what values are divided by to be shown in their unit (``2**30`` for bytes in GiB).  CSV
        and JSON hold the values themselves.
    type: of the values, annotated as those of a record type are: ``int``, ``list[str]``.
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
        """The unit, unless the values name it themselves: ``3.2 ms``."""
        return None if self.format in _WITH_UNIT else self.unit

    @property
    def heading(self) -> str:
        """Label and unit: ``mean (s)``."""
        return f"{self.label} ({self.shown_unit})" if self.shown_unit else self.label


_WITH_UNIT = ("duration", "seconds", "bytes", "share")


def text(name: str, doc: str | None = None) -> Column:
    """A text."""
    return Column(name, doc=doc, type=str)


def texts(name: str, doc: str | None = None) -> Column:
    """A list of texts."""
    return Column(name, doc=doc, type=list[str])


def path(name: str, doc: str | None = None) -> Column:
    """A path: where it is too long, its end is kept."""
    return Column(name, format="path", doc=doc, type=str)


def named(name: str, doc: str | None = None) -> Column:
    """A key, an address, an id: where it is too long, both its ends are kept."""
    return Column(name, format="id", doc=doc, type=str)


def number(name: str, doc: str | None = None, kind: Any = int) -> Column:
    """A number that names something, as a process id: its digits are not grouped."""
    return Column(name, format="d", doc=doc, type=kind)


def count(name: str, doc: str | None = None, unit: str | None = None) -> Column:
    """How many there are of something: a whole number."""
    return Column(name, unit=unit, doc=doc, type=int)


def size(name: str, doc: str | None = None) -> Column:
    """An amount of bytes."""
    return Column(name, unit="bytes", format="bytes", doc=doc, type=int)


def rate(name: str, doc: str | None = None) -> Column:
    """Bytes per second."""
    return Column(name, unit="bytes/s", format="bytes", doc=doc, type=float)


def seconds(name: str, doc: str | None = None) -> Column:
    """A duration in seconds."""
    return Column(name, unit="s", format="seconds", doc=doc, type=float)


def hours(name: str, doc: str | None = None, unit: str = "h") -> Column:
    """Hours of something, as CPU hours."""
    return Column(name, unit=unit, format=",.1f", doc=doc, type=float)


def share(name: str, doc: str | None = None) -> Column:
    """A share of 1, shown in percent."""
    return Column(name, unit="1", format="share", doc=doc, type=float)


def amount(
    name: str, doc: str | None = None, unit: str | None = None, form: str | None = None
) -> Column:
    """A number with a fraction, in a unit of its own."""
    return Column(name, unit=unit, format=form, doc=doc, type=float)


def flag(name: str, doc: str | None = None) -> Column:
    """Whether something is so."""
    return Column(name, doc=doc, type=bool)


def time(name: str, doc: str | None = None) -> Column:
    """A point in time, in UTC."""
    return Column(name, doc=doc, type=datetime)


def passed_on(*names: str) -> tuple[Column, ...]:
    """Columns of a record type that the view requires, whose declaration explains them."""
    return tuple(Column(name) for name in names)
