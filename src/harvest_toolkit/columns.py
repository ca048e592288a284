"""Kinds of columns that a view declares, by what their values are: ``seconds("wall_s")``.

Nothing heavy is imported, so that a module that declares views stays quick to import.  A column
without ``doc`` takes its meaning from the record type that has a column of its name.
"""

from __future__ import annotations

from typing import Final

from harvest import Column

__all__ = ["LONGEST_S", "hours", "named", "number", "path", "seconds", "share", "size"]

LONGEST_S: Final = 9e9
"""285 years.  A longer time does not fit 64 bits as nanoseconds, and is none that was measured."""


def seconds(name: str, doc: str | None = None) -> Column:
    """A duration in seconds."""
    return Column(name, unit="s", format="seconds", doc=doc)


def hours(name: str, doc: str | None = None, unit: str = "h") -> Column:
    """Hours of something, as CPU hours."""
    return Column(name, unit=unit, format=",.1f", doc=doc)


def size(name: str, doc: str | None = None) -> Column:
    """An amount of bytes."""
    return Column(name, unit="bytes", format="bytes", doc=doc)


def share(name: str, doc: str | None = None) -> Column:
    """A share of 1, shown in percent."""
    return Column(name, unit="1", format="share", doc=doc)


def path(name: str, doc: str | None = None) -> Column:
    """A path: where it is too long, its end is kept."""
    return Column(name, format="path", doc=doc)


def named(name: str, doc: str | None = None) -> Column:
    """A key, an address, an id: where it is too long, both its ends are kept."""
    return Column(name, format="id", doc=doc)


def number(name: str, doc: str | None = None) -> Column:
    """A number that names something, as a process id: its digits are not grouped."""
    return Column(name, format="d", doc=doc)
