"""The accounts of a dataset's parts as a frame, for what is counted over all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from .columns import ACCOUNT, NAMES, STATE

if TYPE_CHECKING:
    from .parts import Parts

_COLUMNS = {
    NAMES: ["source", "folder", "name"],
    STATE: ["plugin", "failed"],
    ACCOUNT: ["run", "rejected", "rows"],
}


def accounts_of(parts: Parts) -> pl.DataFrame:
    """A row for each part: source, origin, plugin, run, rejected, failed, rows, written.

    rows: by record type, as structs of ``of`` and ``count``; written: the sum of these.
    """
    frames = [
        pl.DataFrame(parts.table(name).select(columns).filter(parts.counting).unify_dictionaries())
        for name, columns in _COLUMNS.items()
    ]
    counts = pl.col("rows").list.eval(pl.element().struct.field("count"))
    return pl.concat(frames, how="horizontal").select(
        pl.col("source").cast(pl.String),
        pl.concat_str(pl.col("folder").cast(pl.String), "name").alias("origin"),
        pl.col("plugin").cast(pl.String),
        pl.col("run").cast(pl.String),
        pl.col("rejected", "failed", "rows"),
        counts.list.sum().alias("written"),
    )


def rows_by_type(accounts: pl.DataFrame) -> pl.DataFrame:
    """A row for each record type, ``of``, of which some part has rows.

    sources, plugins: of these parts; origins: how many they have.
    """
    held = accounts.select(
        "source", "plugin", "rows", origin=pl.col("origin").cast(pl.Categorical).to_physical()
    )
    return (
        held.explode("rows")
        .unnest("rows")
        .filter(pl.col("count") > 0)
        .group_by(pl.col("of").cast(pl.String))
        .agg(
            sources=pl.col("source").unique().sort(),
            plugins=pl.col("plugin").unique().sort(),
            origins=pl.col("origin").n_unique(),
        )
    )
