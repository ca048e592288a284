"""Lazy frames whose rows a function computes when the frame is collected.

A view over millions of traced operations must run in bounded memory, whichever engine the caller
collects with.  Its function runs the streaming engine itself, and reads nothing before that.
"""

from collections.abc import Callable, Iterator, Mapping

import polars as pl
from polars.io.plugins import register_io_source

from .frames import fitted

__all__ = ["deferred"]


def deferred(
    compute: Callable[[], pl.DataFrame], schema: Mapping[str, pl.DataType]
) -> pl.LazyFrame:
    """Make a lazy frame of what ``compute`` returns, with exactly the columns of ``schema``.

    A whole number that its column cannot hold is null: see :func:`.frames.fitted`.
    """

    def source(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        del batch_size  # a hint; the result is small compared with its input
        frame = fitted(compute(), schema)
        if predicate is not None:
            frame = frame.filter(predicate)
        if n_rows is not None:
            frame = frame.head(n_rows)
        yield frame if with_columns is None else frame.select(with_columns)

    # cached for one query, so that frames collected together compute it once
    return register_io_source(source, schema=dict(schema)).cache()
