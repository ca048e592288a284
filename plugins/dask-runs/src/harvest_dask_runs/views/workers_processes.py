"""The view ``dask.workers_processes``: which process each worker is."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.deferred import deferred

from ..frames import host_of
from ..io.match import Correlation, correlate
from ..runs import named_run

__all__ = ["workers_processes"]

WORKERS_PROCESSES: dict[str, pl.DataType] = {
    "run": pl.String(),
    "worker": pl.String(),
    "address_host": pl.String(),
    "host": pl.String(),
    "pid": pl.Int64(),
    "log": pl.String(),
    "threads": pl.List(pl.Int64()),
    "tied_by": pl.String(),
    "candidates": pl.Int64(),
}


def workers_processes(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """Which process each worker is: one row per worker and log.

    A worker that is tied to no process has one row with nulls.
    """
    wanted = named_run(dataset, run)
    return deferred(lambda: _workers_processes(correlate(dataset, wanted)), WORKERS_PROCESSES)


def _workers_processes(known: Correlation) -> pl.DataFrame:
    one = ["run", "worker"]
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
        .drop("by_pid")
        .sort("run", "worker", "host", "pid", "log", nulls_last=True)
    )
