"""The view ``dask.workers_processes``: which process each worker is."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader

from ..frames import host_of
from ..io.match import correlate
from ..runs import named_run
from .declared.io import PROCESS_COLUMNS


def workers_processes(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """Which process each worker is: one row per worker and log.

    A worker that is tied to no process has one row with nulls.
    """
    known, one = correlate(dataset, named_run(dataset, run)), ["run", "worker"]
    processes = known.tied.group_by(*one, "hostname", "pid", "origin").agg(
        threads=pl.col("thread").unique().sort(),
        candidates=pl.col("candidates").max(),
        by_pid=pl.col("by_pid").any(),
    )
    several = pl.col("candidates") > 1
    return (
        known.workers.join(processes, on=one, how="left")
        .with_columns(
            address_host=host_of(pl.col("worker")),
            tied_by=pl.when("by_pid")
            .then(pl.lit("process id"))
            .when(several)
            .then(pl.lit("best of several"))
            .when(~several)
            .then(pl.lit("thread")),
        )
        .rename({"hostname": "host", "origin": "log"})
        .sort("run", "worker", "host", "pid", "log", nulls_last=True)
        .select(column.name for column in PROCESS_COLUMNS)
        .lazy()
    )
