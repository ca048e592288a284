"""Columns of polars frames that become tables."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from harvest.toolkit.frames import TEXT_MAP

__all__ = ["extra_of"]


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
