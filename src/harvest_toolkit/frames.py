"""Columns of polars frames: sums and fractions of what is known, the map ``extra``, directories.

A sum of 64-bit numbers that passes their end wraps in silence, and one infinite time makes a sum
infinite.  So sums here are null where they do not fit, and values that cannot be are null before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from harvest.toolkit.frames import TEXT_MAP

__all__ = [
    "LONGEST_S", "complete_sum", "count_if_known", "directory_of", "extra_of", "first_text",
    "fitted", "fraction", "known_sum", "possible", "safe_sum", "sum_or_none", "whole_nanoseconds",
]  # fmt: skip

LONGEST_S: Final = 9e9
"""285 years.  A longer time does not fit 64 bits as nanoseconds, and is none that was measured."""

CERTAINTY: Final = "certainty"
"""The column of a view that holds what makes its numbers less than certain."""


def possible(values: str | pl.Expr) -> pl.Expr:
    """Counts or sizes; null below 0, which none can be.  In 128 bits: no arithmetic wraps."""
    found = _column(values)
    return pl.when(found >= 0).then(found.cast(pl.Int128))


def whole_nanoseconds(seconds: str | pl.Expr) -> pl.Expr:
    """Whole numbers, whose sum does not depend on their order.

    Null for what is not a number, or infinite, or more than 285 years.
    """
    found = _column(seconds)
    # only numbers that fit reach the cast
    return pl.when(found.abs() < LONGEST_S).then((found * 1e9).round(0)).cast(pl.Int64)


def safe_sum(values: str | pl.Expr) -> pl.Expr:
    """The sum of what is known, 0 of nothing; null where it is infinite or its type cannot hold it.

    What wraps is off by 2**64, floats by a few digits.
    """
    total, near = _column(values).sum(), _column(values).cast(pl.Float64).sum()
    return pl.when((total.cast(pl.Float64) - near).abs() < 2.0**62).then(total)


def known_sum(values: str | pl.Expr) -> pl.Expr:
    """The sum of what is known; null where nothing is, of no values too."""
    found = _column(values)
    return pl.when(found.is_not_null().any()).then(safe_sum(found))


def sum_or_none(values: str | pl.Expr) -> pl.Expr:
    """The sum of what is known, 0 of no values; null where there are some and none is known."""
    found = _column(values)
    return pl.when((found.len() == 0) | found.is_not_null().any()).then(safe_sum(found))


def complete_sum(values: str | pl.Expr) -> pl.Expr:
    """The sum; null where one of the values is unknown, or there are none."""
    found = _column(values)
    return pl.when(found.len() > 0, found.is_not_null().all()).then(safe_sum(found))


def count_if_known(flag: str | pl.Expr) -> pl.Expr:
    """How many rows have a flag; null where it is known of none."""
    found = _column(flag)
    return pl.when(found.is_not_null().any()).then(found.sum().cast(pl.Int64))


def fraction(part: str | pl.Expr, whole: str | pl.Expr) -> pl.Expr:
    """What share of the whole a part is; null where the whole is 0 or one of them is unknown."""
    return pl.when(_column(whole) > 0).then(_column(part) / _column(whole))


def first_text(*cases: tuple[pl.Expr, str | pl.Expr]) -> pl.Expr:
    """The text next to the first condition that is true, as a reason; null where none is.

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


def fitted(frame: pl.DataFrame, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """The columns of a schema, in its types; a whole number that its type cannot hold is null.

    Then ``certainty`` says ``too_large``, where the schema has that column.
    """
    wide = [name for name in schema if frame.schema[name] == pl.Int128]
    lost = [
        pl.col(name).is_not_null() & pl.col(name).cast(schema[name], strict=False).is_null()
        for name in wide
    ]
    if lost and CERTAINTY in schema:
        more = pl.concat_list(CERTAINTY, pl.lit("too_large"))
        frame = frame.with_columns(
            pl.when(pl.any_horizontal(lost)).then(more).otherwise(CERTAINTY).alias(CERTAINTY)
        )
    return frame.select(pl.col(name).cast(kind, strict=False) for name, kind in schema.items())
