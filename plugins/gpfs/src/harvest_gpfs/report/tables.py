"""Amounts and times in the words of a report, its columns, and long tables cut."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from harvest_report import Column, with_others
from harvest_toolkit.frames import sum_or_none

__all__ = ["amount", "day", "first_and_others", "most_changed", "percent"]


def amount(name: str, label: str, sign: str = "") -> Column:
    """A column of bytes, in the unit that fits them; ``+`` where they grow or shrink."""
    return Column(name, label, "bytes", f"{sign},.0f")


def percent(name: str, label: str) -> Column:
    """A column of shares, in percent."""
    return Column(name, label, None, ".1%")


def day(label: str) -> str:
    """A scan as a table names it: ``2026-01-11`` where it was made at midnight."""
    return label.removesuffix("Z").removesuffix("T00:00:00").replace("T", " ")


def most_changed(table: pl.DataFrame, n: int) -> pl.DataFrame:
    """The ``n`` rows that grew or shrank most, the most grown first; behind them the others."""
    largest = table.sort(
        pl.col("growth_bytes").abs(), descending=True, nulls_last=True, maintain_order=True
    )
    first = largest.head(n).sort(
        "growth_bytes", descending=True, nulls_last=True, maintain_order=True
    )
    return pl.concat([first, largest.slice(n)])


def first_and_others(table: pl.DataFrame, column: str, sums: Sequence[str], n: int) -> pl.DataFrame:
    """The first ``n`` rows, and one for all others together; one alone has a row of its own."""
    table = table.select(pl.col(column).cast(pl.String), *sums)
    if table.height <= n + 1:
        return table
    others = table.slice(n)
    row = others.select(sum_or_none(name).alias(name) for name in sums)
    return with_others(table.head(n), others.height, column, row)
