"""Numbers of a comparison in words: amounts, how much more, how sure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from harvest.toolkit.amounts import bytes_in_words, seconds_in_words, share_in_words

from .numbers import Numbers


def amount(value: float | None, unit: str | None) -> str:
    """A number by its unit: 3.2 s, 5.00 MiB, 37 %, 12; – where it is not known."""
    if value is None:
        return "–"
    if unit == "s":  # in minutes only where there are many, so that two numbers have one unit
        return f"{value:.0f} s" if 60 <= abs(value) < 600 else seconds_in_words(value)
    if unit == "bytes":
        return bytes_in_words(value)
    if unit == "1":
        return share_in_words(value)
    return f"{value:,.10g}" if value == round(value) else f"{value:,.2f}"


def change(row: dict[str, Any]) -> str:
    """By how much a number changed: +3.2 s, -4 points of a percentage; – where it is not known."""
    difference, unit = row["difference"], row["unit"]
    sign = "+" if (difference or 0) > 0 else ""
    if unit == "1" and difference is not None:
        return f"{sign}{100 * difference:.2g} points"
    return sign + amount(difference, unit)


def times(ratio: float | None) -> str:
    """How many times as much: 2.0, 0.25, 118; – where it is not known."""
    if ratio is None:
        return "–"
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}"


def certainty(row: dict[str, Any]) -> str:
    """How sure a difference is: runs apart, chance 10 %; empty where there is none."""
    return ", chance ".join(filter(None, _certainty(row)))


def certainties(rows: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """How sure the differences of rows are: the columns how and chance."""
    texts = [_certainty(row) for row in rows.iter_rows(named=True)]
    return (
        pl.Series("how", [how for how, _ in texts], dtype=pl.String),
        pl.Series("chance", [chance for _, chance in texts], dtype=pl.String),
    )


def _certainty(row: dict[str, Any]) -> tuple[str, str]:
    sure, pairs, chance = row["sure"] or "", row["pairs_share"], row["chance_share"]
    if pairs is not None:
        longer = f"{share_in_words(max(pairs, 1 - pairs))} of pairs "
        sure = longer + ("longer" if pairs >= 0.5 else "shorter")
    return sure, "" if chance is None else share_in_words(chance)


def with_range(row: dict[str, Any], side: str) -> str:
    """A number of a side, and from where to where its runs go: 40 s (38 s to 42 s)."""
    reach = _reach(row, side)
    return f"{amount(row[side], row['unit'])}{f' ({reach})' if reach else ''}"


def _reach(row: dict[str, Any], side: str) -> str:
    low, high = (amount(row[f"{side}_{end}"], row["unit"]) for end in ("low", "high"))
    return "" if low == high else f"{low} to {high}"


def name_of_side(which: str, side: Sequence[Numbers], others: Sequence[Numbers]) -> str:
    """How a side is called: its run's name, or ``the 3 runs before``."""
    if len(side) > 1:
        return f"the {len(side)} runs {which}"
    run = side[0].run
    if len(others) > 1 or others[0].run == run or others[0].run.name != run.name:
        return run.name
    return f"{run.name} {which}"
