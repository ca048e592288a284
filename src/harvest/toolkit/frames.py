"""Frames of polars: types of columns that become tables, conditions in SQL, paths in columns."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from harvest.errors import UsageError, suggestion

__all__ = ["TEXT_MAP", "condition", "directory_of", "extra_of"]

TEXT_MAP = pl.List(pl.Struct({"key": pl.String, "value": pl.String}))
"""How a polars frame holds a column that is ``dict[str, str]`` in the record class (``extra``)."""


def extra_of(names: Sequence[str]) -> pl.Expr:
    """Columns of texts as the one column ``extra``: null where there are none."""
    if not names:
        return pl.lit(None, TEXT_MAP).alias("extra")
    pairs = (pl.struct(pl.lit(name).alias("key"), pl.col(name).alias("value")) for name in names)
    return pl.concat_list(pairs).alias("extra")


def condition(sql: str, frame: pl.DataFrame | pl.LazyFrame) -> pl.Expr:
    """An SQL condition over the columns of a frame: ``state = 'lost' and bytes > 1e9``.

    Raises UsageError where it is not one, or names a column that the frame does not have.
    """
    schema = frame.collect_schema()
    try:
        expression = pl.sql_expr(sql)
        for name in expression.meta.root_names():
            if name not in schema:
                raise UsageError(
                    f"unknown column {name!r}", where=sql, remedy=suggestion(name, schema)
                )
        kind = pl.LazyFrame(schema=schema).select(expression).collect_schema().dtypes()
    except pl.exceptions.PolarsError as error:
        raise UsageError(
            f"this is not a condition: {error}",
            where=sql,
            remedy="write SQL such as: user = 'ada' and bytes > 1e9",
        ) from error
    if kind != [pl.Boolean]:
        raise UsageError("this is not a condition", where=sql, remedy="compare something")
    return expression


def directory_of(path: pl.Expr) -> pl.Expr:
    """The directory of a path or URI; ``.`` where it has none."""
    directory = path.cast(pl.String).str.extract(r"^(.*)/[^/]*$", 1)
    return pl.when(directory == "").then(pl.lit("/")).otherwise(directory).fill_null(".")
