"""Values as people read them: the text of a cell, the same on paper, page and terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from harvest.run.text import printable_line

if TYPE_CHECKING:
    import polars as pl

    from .model import Table

__all__ = ["MISSING", "group_starts", "numeric", "rows_of_text"]

MISSING = "–"
"""Shown where there is no value."""


def numeric(table: Table) -> list[bool]:
    """For each column, whether it holds numbers: those are aligned right."""
    schema = table.rows.schema
    return [schema[c.name].is_numeric() for c in table.columns]


def rows_of_text(table: Table) -> Iterator[list[str]]:
    """The rows of a table as text, one line a cell; control characters are made visible."""
    specs = [c.format for c in table.columns]
    for row in table.data.iter_rows():
        yield [_cell(value, spec) for value, spec in zip(row, specs, strict=True)]


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
    text = format(value, spec) if spec else str(value)
    return printable_line(text)


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
