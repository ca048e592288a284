"""Tables of a report: amounts in one unit, shares, long ones cut, the rest in a row of its own."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from harvest_report import Column

from ..views.common import known_sum
from .text import Unit

__all__ = ["amount", "most", "signed", "with_others"]


def amount(name: str, label: str, unit: Unit, doc: str | None = None) -> Column:
    """A column of bytes, shown in a unit; CSV and JSON hold the bytes."""
    return Column(name, label, unit.name, unit.format, doc, unit.size)


def signed(name: str, label: str, unit: Unit, doc: str | None = None) -> Column:
    """A column of bytes that grow or shrink."""
    return Column(name, label, unit.name, f"+{unit.format}", doc, unit.size)


def most(table: pl.DataFrame, *columns: str) -> int:
    """The largest amount of some columns, whatever its sign."""
    found = [table[column].abs().max() for column in columns]
    return max((int(value) for value in found if isinstance(value, int)), default=0)


def with_others(table: pl.DataFrame, column: str, sums: Sequence[str], n: int) -> pl.DataFrame:
    """The first ``n`` rows, and one for all others together; one alone has a row of its own."""
    table = table.select(pl.col(column).cast(pl.String), *sums)
    if table.height <= n + 1:
        return table
    others = table.slice(n)
    row = others.select(
        pl.lit(f"({others.height:,} others)").alias(column),
        *(known_sum(pl.col(name)).alias(name) for name in sums),
    )
    return pl.concat([table.head(n), row])
