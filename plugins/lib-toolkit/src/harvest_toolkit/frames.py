"""Columns of polars frames: texts as the map ``extra``, and directories of paths."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from harvest.toolkit.frames import TEXT_MAP

__all__ = ["directory_of", "extra_of"]


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
