"""Lazy frames whose rows a function computes when the frame is collected.

A view over millions of traced operations must run in bounded memory, whichever engine the caller
collects with.  Its function runs the streaming engine itself, and reads nothing before that.
"""

from collections.abc import Callable, Mapping

import polars as pl

from .frames import fitted

__all__ = ["deferred"]


def deferred(
    compute: Callable[[], pl.DataFrame], schema: Mapping[str, pl.DataType]
) -> pl.LazyFrame:
    """Make a lazy frame of what ``compute`` returns, with exactly the columns of ``schema``.

    A whole number that its column cannot hold is null: see :func:`.frames.fitted`.
    """
    # cached for one query, so that frames collected together compute it once
    return pl.defer(lambda: fitted(compute(), schema), schema=dict(schema)).cache()
