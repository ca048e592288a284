"""The view ``dask.task_io_coverage``: how much of the traced I/O is tied to tasks."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.deferred import deferred
from harvest_toolkit.frames import fraction

from ..io.match import Correlation, correlate
from ..runs import named_run

__all__ = ["task_io_coverage"]

COVERAGE: dict[str, pl.DataType] = {
    "run": pl.String(),
    "host": pl.String(),
    "pid": pl.Int64(),
    "worker": pl.String(),
    "segments": pl.Int64(),
    "task_segments": pl.Int64(),
    "window_segments": pl.Int64(),
    "share": pl.Float64(),
    "bytes": pl.Int64(),
    "task_bytes": pl.Int64(),
    "window_bytes": pl.Int64(),
    "bytes_share": pl.Float64(),
    "by_elimination": pl.Int64(),
    "rank": pl.Int64(),
    "log": pl.String(),
}


def task_io_coverage(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """How much of the traced I/O is tied to tasks: one row per process (log and rank)."""
    wanted = named_run(dataset, run)
    return deferred(lambda: _coverage(correlate(dataset, wanted)), COVERAGE)


def _coverage(known: Correlation) -> pl.DataFrame:
    one = ["origin", "rank"]
    named = known.threads.group_by(one).agg(
        pl.col("run", "hostname", "pid").min(),
    )
    workers = known.tied.group_by(one).agg(
        worker=pl.col("worker").unique().sort().str.join(", "),
    )
    return (
        known.coverage()
        .join(named, on=one)
        .join(workers, on=one, how="left")
        .with_columns(
            share=fraction("window_segments", "task_segments"),
            bytes_share=fraction("window_bytes", "task_bytes"),
        )
        .rename({"hostname": "host", "origin": "log"})
        .sort("run", "host", "pid", "log", "rank", nulls_last=True)
    )
