"""Why a row does not count: the first of some conditions that holds."""

from __future__ import annotations

import polars as pl

__all__ = ["first_reason"]


def first_reason(*cases: tuple[pl.Expr, str | pl.Expr]) -> pl.Expr:
    """The text beside the first condition that is true; null where none is.

    An expression for a text has one wherever its condition is true.
    """
    return pl.coalesce(
        pl.when(condition).then(pl.lit(text) if isinstance(text, str) else text)
        for condition, text in cases
    )
