"""Kinds of columns of the views of jobs, and what several views share."""

from __future__ import annotations

from typing import Final

from harvest import Column

__all__ = ["DAY", "ENDED_OR_NOT", "hours", "number", "passed_on", "seconds", "share", "size"]


def seconds(name: str, doc: str | None = None) -> Column:
    """A duration."""
    return Column(name, unit="s", format="seconds", doc=doc)


def size(name: str, doc: str | None = None) -> Column:
    """An amount of bytes."""
    return Column(name, unit="bytes", format="bytes", doc=doc)


def hours(name: str, doc: str, unit: str = "h") -> Column:
    """Hours of something, as CPU hours."""
    return Column(name, unit=unit, format=",.1f", doc=doc)


def share(name: str, doc: str) -> Column:
    """A share of 1, shown in percent."""
    return Column(name, unit="1", format="share", doc=doc)


def number(name: str, doc: str | None = None) -> Column:
    """A number that names something: it is not counted with."""
    return Column(name, format="d", doc=doc)


def passed_on(*names: str) -> tuple[Column, ...]:
    """Columns of slurm.job, which explains them."""
    return tuple(Column(name) for name in names)


DAY: Final = (
    "in the zone that the jobs were harvested with, UTC where there were several, or that of the "
    "setting timezone"
)

ENDED_OR_NOT: Final = Column(
    "ended",
    doc="Whether it ended, by its state, else by its end; null where neither is known.",
)
