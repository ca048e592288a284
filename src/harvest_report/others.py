"""The last row of a table of the largest: all others together."""

from __future__ import annotations

import polars as pl


def with_others(shown: pl.DataFrame, others: int, name: str, row: pl.DataFrame) -> pl.DataFrame:
    """The rows shown, and behind them one for all others together.

    others: how many there are; the column ``name`` says so: ``(12 others)``.
    row: what they are together; a column of ``shown`` that it lacks is null.
    """
    named = row.with_columns(pl.lit(f"({others:,} others)").alias(name))
    return pl.concat([shown, named], how="diagonal_relaxed").select(shown.columns)
