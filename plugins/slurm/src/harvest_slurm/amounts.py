"""Amounts in sentences: sums that may be unknown, and hours that may be few."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["hours_in_words", "known_sum"]


def known_sum(values: pl.Series) -> float | None:
    """A sum that is None where nothing is known."""
    return float(values.sum()) if values.count() else None


def hours_in_words(amount: float) -> str:
    """Whole hours, and of less than 10 two digits: what is little is not 0."""
    if 0 < amount < 0.01:
        return "<0.01"
    return f"{amount:,.0f}" if abs(amount) >= 9.95 else f"{amount:.2g}"
