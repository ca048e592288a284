"""Tables of a report: amounts in one unit, long ones cut, the rest in a row of its own."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from harvest.report import Column

from ..views.common import known_sum
from .text import Unit

__all__ = ["amount", "in_unit", "with_others"]


def amount(name: str, label: str, unit: Unit) -> Column:
    """The column that ``in_unit`` makes of one of bytes (``size_bytes``)."""
    return Column(_named(name, unit), label, unit.name, unit.format)


def in_unit(table: pl.DataFrame, unit: Unit) -> pl.DataFrame:
    """The table, and each of its columns of bytes in a unit: ``size_bytes`` as ``size_gib``."""
    return table.with_columns(
        (pl.col(name) / unit.size).alias(_named(name, unit))
        for name in table.columns
        if name.endswith("_bytes")
    )


def _named(name: str, unit: Unit) -> str:
    # a column in plain bytes keeps its own values beside it
    return name.removesuffix("bytes") + ("in_b" if unit.size == 1 else unit.name.lower())


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
