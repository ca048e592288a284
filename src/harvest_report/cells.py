"""Format the cells of a report's table as text, equally for paper, page and terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from .values import texts_of

if TYPE_CHECKING:
    from harvest import Column

    from .model import Table


def numeric(table: Table) -> list[bool]:
    """Return for each column whether it holds numbers, which are aligned right."""
    schema = table.rows.schema
    return [schema[c.name].is_numeric() for c in table.columns]


def leading(columns: Sequence[Sequence[str]]) -> int:
    """Return how many of the first three columns distinguish all rows; 1 when they do not."""
    rows = len(columns[0])
    enough = (n for n in (1, 2, 3) if len(set(zip(*columns[:n], strict=True))) == rows)
    return next(enough, 1)


def rows_of_text(table: Table) -> Iterator[tuple[str, ...]]:
    """Yield rows as text, one line per cell, with visible control characters."""
    texts = [
        texts_of(table.rows[c.name].to_list(), _format(table, c), scale=c.scale)
        for c in table.columns
    ]
    return zip(*texts, strict=True)


def _format(table: Table, column: Column) -> str | None:
    """Return the column's format; by default three decimals and whole seconds."""
    kind = table.rows.schema[column.name]
    if column.format is not None:
        return column.format
    if kind.is_float() or (column.scale != 1 and kind.is_numeric()):
        return ",.3f"
    return "%Y-%m-%d %H:%M:%S" if kind == pl.Datetime else None


def group_starts(table: Table) -> list[bool]:
    """Return for each row whether a rule goes above it, because the group's value changes."""
    if table.group is None:
        return [False] * table.rows.height
    values: pl.Series = table.rows[table.group]
    listed = values.to_list()
    return [i > 0 and value != listed[i - 1] for i, value in enumerate(listed)]
