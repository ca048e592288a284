"""Polars frames: the type of map columns, and SQL conditions."""

import re

import polars as pl

from harvest.errors import UsageError, suggestion

__all__ = ["TEXT_MAP", "condition"]

TEXT_MAP = pl.List(pl.Struct({"key": pl.String, "value": pl.String}))
"""Polars type of a column that is ``dict[str, str]`` in the record class (``extra``)."""


def condition(sql: str, frame: pl.DataFrame | pl.LazyFrame) -> pl.Expr:
    """Parse an SQL condition over a frame's columns: ``state = 'lost' and bytes > 1e9``.

    Raises UsageError for an invalid condition, or for an unknown column.
    """
    schema = frame.collect_schema()
    try:
        expression = pl.sql_expr(sql)
        for name in expression.meta.root_names():
            if name not in schema:
                raise UsageError(
                    f"unknown column {name!r}", where=sql, remedy=suggestion(name, schema)
                )
        # collecting an empty frame finds values that cannot be compared
        kind = pl.LazyFrame(schema=schema).select(expression).collect().dtypes
    except pl.exceptions.PolarsError as error:
        words = set(re.findall(r'\w+|"[^"]*"', sql))
        quoted = [in_sql(name) for name in schema if name in words and in_sql(name) != name]
        raise UsageError(
            f"this is not a condition: {str(error).partition(chr(10))[0]}",
            where=sql,
            remedy=f"in SQL this column is {' and this one '.join(quoted)}"
            if quoted
            else "write SQL such as: state = 'failed' and nbytes > 1e9",
        ) from error
    if kind != [pl.Boolean]:
        raise UsageError("this is not a condition", where=sql, remedy="compare something")
    return expression


def in_sql(column: str) -> str:
    """Return a column name for SQL, quoted if its plain form has another meaning, as ``user``."""
    try:
        plain = pl.sql_expr(f"{column} = 0").meta.root_names() == [column]
    except pl.exceptions.PolarsError:
        plain = False
    return column if plain else '"' + column.replace('"', '""') + '"'
