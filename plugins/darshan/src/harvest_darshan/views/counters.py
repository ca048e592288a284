"""What Darshan's counters say of files that have no trace."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import known_sum, possible

from .frames import run_of
from .layers import Layer, counted_records

BINS = (
    *("0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M"),
    *("1M_4M", "4M_10M", "10M_100M", "100M_1G", "1G_PLUS"),
)
"""Darshan's bins of the sizes of reads and writes, in its own words."""


def counter_rows(dataset: DatasetReader, run: str | None, traced: pl.DataFrame) -> pl.DataFrame:
    """Counters that together count each byte once, as rows like those of ``traced``.

    traced: rows with origin and record_id; files of a log that are there are left out, but for
        their buffered I/O.

    Columns: origin, record_id, rank (-1: all processes), module, op, path, count, bytes,
    nanoseconds, sequential (null: not known), part (whether a number is left out that cannot be),
    and a column per bin of sizes (null: not known).
    """
    rows = [
        _of_op(layer, frame, op)
        for layer, frame in counted_records(dataset, run, traced).values()
        for op in ("read", "write")
    ]
    return pl.concat(rows).select(traced.columns).collect()


def _of_op(layer: Layer, frame: pl.LazyFrame, op: str) -> pl.LazyFrame:
    """A row per record."""

    def size(name: str) -> pl.Expr:
        if layer.sizes is None:
            return pl.lit(None, dtype=pl.Int128).alias(name)
        return possible(f"{layer.prefix}_SIZE_{op.upper()}_{layer.sizes}{name}").alias(name)

    sequential = pl.lit(None, dtype=pl.Int128)
    if layer.prefix == "POSIX":  # no other counts them
        sequential = possible(f"POSIX_SEQ_{op.upper()}S")
    known = (layer.requests(op), layer.moved(op), layer.spent(op))
    return frame.select(
        *("origin", "record_id", "rank", "path"),
        *[size(name) for name in BINS],
        module=pl.lit(layer.module),
        op=pl.lit(op),
        count=known[0],
        bytes=known[1],
        nanoseconds=known[2],
        sequential=sequential,
        part=pl.any_horizontal(value.is_null() for value in known)
        | (pl.col(f"{layer.prefix}_F_{op.upper()}_TIME") < 0),
    )


def metadata_seconds(dataset: DatasetReader, run: str | None) -> pl.DataFrame:
    """Time in metadata operations by run and record_id, of the records that count its bytes.

    meta_part: whether that of a record is left out, as it cannot be.
    """
    rows = [
        frame.select(*("origin", "record_id"), spent=layer.spent("meta"))
        for layer, frame in counted_records(dataset, run).values()
    ]
    return (
        pl.concat(rows)
        .group_by("record_id", run=run_of())
        .agg(meta_s=known_sum("spent") / 1e9, meta_part=pl.col("spent").is_null().any())
        .collect(engine="streaming")
    )
