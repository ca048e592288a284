"""A lazy frame whose rows a function computes when they are asked for.

Millions of traced operations must not be held together, whatever engine the caller collects
with.  So such views do their work in a function that runs the streaming engine itself; nothing is
read until the frame is collected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import polars as pl
from polars.io.plugins import register_io_source

from .frames import fitted

__all__ = ["deferred"]


def deferred(
    compute: Callable[[], pl.DataFrame], schema: Mapping[str, pl.DataType]
) -> pl.LazyFrame:
    """The frame that ``compute`` gives, which has exactly the columns of ``schema``.

    A whole number that its column cannot hold is null: see :func:`.frames.fitted`.
    """

    def source(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        del batch_size  # a hint; the result is small beside what it is made from
        frame = fitted(compute(), schema)
        if predicate is not None:
            frame = frame.filter(predicate)
        if n_rows is not None:
            frame = frame.head(n_rows)
        yield frame if with_columns is None else frame.select(with_columns)

    # kept while a query runs, so that queries collected together compute it once
    return register_io_source(source, schema=dict(schema)).cache()
