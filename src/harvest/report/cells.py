"""Values as people read them: the text of a cell, the same on paper, page and terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from harvest.toolkit.texts import printable_line

if TYPE_CHECKING:
    import polars as pl

    from .model import Table

__all__ = ["DURATION", "MISSING", "group_starts", "numeric", "rows_of_text"]

MISSING = "–"
"""Shown where a value is missing."""

DURATION = "duration"
"""The format of seconds that are shown as days-hours:minutes:seconds."""


def numeric(table: Table) -> list[bool]:
    """For each column, whether it holds numbers: those are aligned right."""
    schema = table.rows.schema
    return [schema[c.name].is_numeric() for c in table.columns]


def rows_of_text(table: Table) -> Iterator[list[str]]:
    """The rows of a table as text, one line a cell; control characters are made visible."""
    for row in table.data.iter_rows():
        yield [
            _cell(value, c.format) if c.scale == 1 else _scaled(value, c.scale, c.format)
            for value, c in zip(row, table.columns, strict=True)
        ]


def group_starts(table: Table) -> list[bool]:
    """For each row, whether a rule goes above it: the group's value has changed."""
    if table.group is None:
        return [False] * table.rows.height
    values: pl.Series = table.rows[table.group]
    listed = values.to_list()
    return [i > 0 and value != listed[i - 1] for i, value in enumerate(listed)]


def _cell(value: Any, spec: str | None) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if spec is None:
        spec = _default(value)
    if spec == DURATION:
        return _duration(value)
    text = format(value, spec) if spec else str(value)
    return printable_line(text)


def _scaled(value: Any, scale: int, spec: str | None) -> str:
    """A value in a larger unit; what rounds to zero and is not zero says so: ``<0.01``."""
    if value is None:
        return MISSING
    text = _cell(value / scale, spec)
    if value and not any(digit in text for digit in "123456789"):
        return f"<{text[:-1]}1" if value > 0 else f">{text[:-1]}1"
    return text


def _duration(seconds: float) -> str:
    """Slurm's notation, to the nearest second: 1-02:03:04, 2:03:04, 0:00:07."""
    if not math.isfinite(seconds):
        return str(seconds)
    minutes, second = divmod(round(abs(seconds)), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    clock = f"{hour:02d}:{minute:02d}:{second:02d}" if days else f"{hour}:{minute:02d}:{second:02d}"
    sign = "-" if seconds < 0 and minutes + second > 0 else ""
    return f"{sign}{days}-{clock}" if days else f"{sign}{clock}"


def _default(value: Any) -> str:
    if isinstance(value, int):
        return ",d"
    if isinstance(value, float):
        return ",.3f"
    if isinstance(value, datetime):
        return "%Y-%m-%d %H:%M:%S"
    if isinstance(value, date):
        return "%Y-%m-%d"
    return ""
