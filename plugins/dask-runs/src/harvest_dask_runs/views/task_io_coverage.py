"""The view ``dask.task_io_coverage``: how much of the traced I/O is tied to tasks."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import fraction

from ..io.match import correlate
from ..runs import named_run
from .declared.io import COVERAGE_COLUMNS


def task_io_coverage(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """How much of the traced I/O is tied to tasks: one row per process (log and rank)."""
    known, one = correlate(dataset, named_run(dataset, run)), ["origin", "rank"]
    named = known.threads.group_by(one).agg(pl.col("run", "hostname", "pid").min())
    workers = known.tied.group_by(one).agg(worker=pl.col("worker").unique().sort().str.join(", "))
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
        .select(column.name for column in COVERAGE_COLUMNS)
        .lazy()
    )
