"""Tasks of graphs, and which of them a client asked for."""

from __future__ import annotations

from typing import Final

import polars as pl

ASKED: Final = {"row": pl.Int64(), "key": pl.String()}
"""Columns of keys that were asked for; row: which graph."""
TASKS: Final = {**ASKED, "needs": pl.List(pl.String)}
"""Columns of the tasks of graphs: each with the keys that it needs."""


def with_requested(tasks: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """All tasks of some graphs in order with ``requested``, those that were only asked for last."""
    wanted = asked.unique().with_columns(requested=True)
    found = tasks.join(wanted, on=["row", "key"], how="left", maintain_order="left")
    missing = wanted.join(tasks, on=["row", "key"], how="anti").sort("row", "key")
    more = missing.with_columns(needs=pl.lit([], pl.List(pl.String))).select(found.columns)
    every = pl.concat([found, more]) if more.height else found
    return every.with_columns(pl.col("requested").fill_null(value=False)).sort(
        "row", maintain_order=True
    )
