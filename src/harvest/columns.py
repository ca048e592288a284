"""Columns as people meet them: in views, and in the tables of a report.

A view declares a column by its kind, its name and what it means: ``seconds("wall_s", "How long it
ran.")``.  The kind gives the type of the values, their unit and how people are shown them.  Nothing
heavy is imported, so that a module that declares views stays quick to import.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol

import attrs

__all__ = [
    *("Column", "amount", "count", "flag", "hours", "named", "number", "passed_on", "path"),
    *("rate", "seconds", "share", "size", "text", "texts", "time"),
]


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
    doc: what it means.
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
        """The unit, unless the values name theirs: ``3.2 ms``."""
        return None if self.format in _WITH_UNIT else self.unit

    @property
    def heading(self) -> str:
        """Label and unit: ``mean (s)``."""
        return f"{self.label} ({self.shown_unit})" if self.shown_unit else self.label


_WITH_UNIT = ("duration", "seconds", "bytes", "share")


class _Kind(Protocol):
    def __call__(self, name: str, doc: str | None = None) -> Column: ...


def _kind(means: str, values: Any, *, unit: str | None = None, form: str | None = None) -> _Kind:
    """What declares columns of a kind, which ``help`` says of it."""

    def declare(name: str, doc: str | None = None) -> Column:
        return Column(name, unit=unit, format=form, doc=doc, type=values)

    declare.__doc__ = means
    return declare


text = _kind("A text.", str)
texts = _kind("A list of texts.", list[str])
path = _kind("A path: where it is too long, its end is kept.", str, form="path")
named = _kind(
    "A key, an address, an id: where it is too long, both its ends are kept.", str, form="id"
)
size = _kind("An amount of bytes.", int, unit="bytes", form="bytes")
rate = _kind("Bytes per second.", float, unit="bytes/s", form="bytes")
seconds = _kind("A duration in seconds.", float, unit="s", form="seconds")
share = _kind("A share of 1, shown in percent.", float, unit="1", form="share")
flag = _kind("Whether something is so.", bool)
time = _kind("A point in time, in UTC.", datetime)


def number(name: str, doc: str | None = None, kind: Any = int) -> Column:
    """A number that names something, as a process id: its digits are not grouped."""
    return Column(name, format="d", doc=doc, type=kind)


def count(name: str, doc: str | None = None, unit: str | None = None) -> Column:
    """How many there are of something: a whole number."""
    return Column(name, unit=unit, doc=doc, type=int)


def hours(name: str, doc: str | None = None, unit: str = "h") -> Column:
    """Hours of something, as CPU hours."""
    return Column(name, unit=unit, format=",.1f", doc=doc, type=float)


def amount(
    name: str, doc: str | None = None, unit: str | None = None, form: str | None = None
) -> Column:
    """A number with a fraction, in a unit of its own."""
    return Column(name, unit=unit, format=form, doc=doc, type=float)


def passed_on(*names: str) -> tuple[Column, ...]:
    """Columns of a record type that the view requires, whose declaration explains them."""
    return tuple(Column(name) for name in names)
