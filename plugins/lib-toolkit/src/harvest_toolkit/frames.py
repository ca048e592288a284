"""Columns of polars frames: sums and fractions of what is known, the map ``extra``, directories."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from harvest.toolkit.frames import TEXT_MAP

__all__ = [
    *("complete_sum", "count_if_known", "directory_of", "extra_of"),
    *("first_text", "fraction", "known_sum", "sum_or_none"),
]


def known_sum(values: str | pl.Expr) -> pl.Expr:
    """The sum of what is known; null where nothing is, of no values too."""
    found = _column(values)
    return pl.when(found.is_not_null().any()).then(found.sum())


def sum_or_none(values: str | pl.Expr) -> pl.Expr:
    """The sum of what is known, 0 of no values; null where there are some and none is known."""
    found = _column(values)
    return pl.when((found.len() == 0) | found.is_not_null().any()).then(found.sum())


def complete_sum(values: str | pl.Expr) -> pl.Expr:
    """The sum; null where one of the values is not known, or there are none."""
    found = _column(values)
    return pl.when(found.len() > 0, found.is_not_null().all()).then(found.sum())


def count_if_known(flag: str | pl.Expr) -> pl.Expr:
    """How many rows have a flag; null where it is known of none."""
    found = _column(flag)
    return pl.when(found.is_not_null().any()).then(found.sum().cast(pl.Int64))


def fraction(part: str | pl.Expr, whole: str | pl.Expr) -> pl.Expr:
    """What share of the whole a part is; null where the whole is 0 or one of them is not known."""
    return pl.when(_column(whole) > 0).then(_column(part) / _column(whole))


def first_text(*cases: tuple[pl.Expr, str | pl.Expr]) -> pl.Expr:
    """The text beside the first condition that is true, as a reason; null where none is.

    An expression for a text must have one wherever its condition is true.
    """
    return pl.coalesce(
        pl.when(condition).then(pl.lit(text) if isinstance(text, str) else text)
        for condition, text in cases
    )


def _column(named: str | pl.Expr) -> pl.Expr:
    return pl.col(named) if isinstance(named, str) else named


def extra_of(names: Sequence[str]) -> pl.Expr:
    """Columns of texts as the one column ``extra``: null where there are none.

    A column that has no text in a row is not in that row's map.
    """
    if not names:
        return pl.lit(None, TEXT_MAP).alias("extra")
    pairs = (pl.struct(pl.lit(name).alias("key"), pl.col(name).alias("value")) for name in names)
    pair = pl.element()
    known = pair.filter(pair.struct.field("value").is_not_null())
    return pl.concat_list(pairs).list.eval(known).alias("extra")


def directory_of(path: pl.Expr) -> pl.Expr:
    """The directory of a path or URI; ``.`` where it has none."""
    directory = path.cast(pl.String).str.extract(r"^(.*)/[^/]*$", 1)
    return pl.when(directory == "").then(pl.lit("/")).otherwise(directory).fill_null(".")
