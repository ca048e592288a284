"""What moved between pairs of workers, and to clients: each movement once."""

from __future__ import annotations

from typing import Final

import polars as pl

from harvest_toolkit.frames import known_sum

from ..frames import moved_bytes

CLIENT: Final = "a client"
UNNAMED: Final = "a worker not recorded"


def pairs_of(transfers: pl.LazyFrame) -> pl.LazyFrame:
    """One row per run and pair: source, target, movements, bytes, seconds, and who reported.

    A movement is reported by the side that sends and the side that receives, or by one of them: per
    pair the larger of the two accounts is taken.  Bytes and seconds that nobody recorded are null.
    """
    pair = ["run", "source", "target"]
    sides = transfers.select(
        *("run", "direction", "duration_s"),
        source=pl.col("fulfiller").fill_null(UNNAMED),
        target=pl.col("requestor").fill_null(CLIENT),
        bytes=moved_bytes(),
    )
    return (
        sides.group_by(*pair, "direction")
        .agg(
            movements=pl.len().cast(pl.Int64),
            bytes=known_sum("bytes"),
            seconds=known_sum("duration_s"),
        )
        .group_by(pair)
        .agg(
            pl.col("movements").max(),
            pl.col("bytes").max(),
            pl.col("seconds").max(),
            sides=pl.when(pl.len() > 1)
            .then(pl.lit("both sides"))
            .when((pl.col("direction") == "outgoing").all())
            .then(pl.lit("the sender"))
            .otherwise(pl.lit("the receiver")),
        )
        .sort("bytes", *pair, descending=[True, False, False, False], nulls_last=True)
    )
