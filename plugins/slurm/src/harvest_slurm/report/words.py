"""What reports and rules say alike: amounts, which may be unknown or small, and days."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import date

    import polars as pl

    from ..views.zone import Zone

CLOCK: Final = "Waits are shown as days-hours:minutes:seconds; files hold seconds."


def known_sum(values: pl.Series) -> float | None:
    """A sum that is None where nothing is known."""
    return float(values.sum()) if values.count() else None


def hours_in_words(amount: float) -> str:
    """Whole hours, and of less than 10 two digits: what is little is not 0."""
    if 0 < amount < 0.01:
        return "<0.01"
    return f"{amount:,.0f}" if abs(amount) >= 9.95 else f"{amount:.2g}"


def days_in_words(first: date | None, last: date | None) -> str:
    """``, 2024-01-01 to 2024-01-31``, to follow a title; nothing where no day is known."""
    if first is None or last is None:
        return ""
    return f", {first} to {last}" if first != last else f", {first}"


def days(rows: pl.DataFrame) -> str:
    """The first and the last day of submission, to follow a title."""
    return days_in_words(rows["date"].min(), rows["date"].max())


def period(dates: pl.Series, zone: Zone) -> str:
    """``from 2024-01-01 to 2024-03-31 (UTC)``."""
    return f"from {dates.min()} to {dates.max()} ({zone.name})"
