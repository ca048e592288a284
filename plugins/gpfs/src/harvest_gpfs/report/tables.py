"""Amounts and times in the words of a report, its columns, and long tables cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
import polars as pl

from harvest_report import Column
from harvest_toolkit.frames import sum_or_none

__all__ = [
    *("Unit", "bytes_text", "day", "most_changed", "percent"),
    *("unit_for", "unit_of", "with_others"),
]

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


@attrs.frozen
class Unit:
    """A unit of bytes that all amounts of a table are shown in; CSV and JSON hold the bytes."""

    name: str
    size: int

    @property
    def format(self) -> str:
        """How amounts are written."""
        return ",.0f" if self.size == 1 else ",.2f"

    def column(self, name: str, label: str) -> Column:
        """A column of bytes."""
        return Column(name, label, self.name, self.format, scale=self.size)

    def signed(self, name: str, label: str) -> Column:
        """A column of bytes that grow or shrink."""
        return Column(name, label, self.name, f"+{self.format}", scale=self.size)


def unit_for(largest: int | None) -> Unit:
    """The unit that writes the largest amount in one to four digits."""
    power = 0
    while power < len(_UNITS) - 1 and (largest or 0) >= 1024 ** (power + 1):
        power += 1
    return Unit(_UNITS[power], 1024**power)


def unit_of(table: pl.DataFrame, *columns: str) -> Unit:
    """The unit for the largest amount of some columns, whatever its sign."""
    found = [table[column].abs().max() for column in columns]
    return unit_for(max((int(value) for value in found if isinstance(value, int)), default=0))


def bytes_text(number: int) -> str:
    """An amount in the unit that suits it: ``3.40 TiB``."""
    unit = unit_for(abs(number))
    return f"{number / unit.size:{unit.format}} {unit.name}"


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


def with_others(table: pl.DataFrame, column: str, sums: Sequence[str], n: int) -> pl.DataFrame:
    """The first ``n`` rows, and one for all others together; one alone has a row of its own."""
    table = table.select(pl.col(column).cast(pl.String), *sums)
    if table.height <= n + 1:
        return table
    others = table.slice(n)
    row = others.select(
        pl.lit(f"({others.height:,} others)").alias(column),
        *(sum_or_none(name).alias(name) for name in sums),
    )
    return pl.concat([table.head(n), row])
