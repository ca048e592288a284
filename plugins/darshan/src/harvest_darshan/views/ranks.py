"""The view ``io.ranks``: what DXT traced of each process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from harvest_toolkit.deferred import deferred

from .frames import SEGMENTS, TIME, traced_once
from .grouping import KEY, certainty, logs_by_job, named_run, program_of

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["ranks"]

RANKS: dict[str, pl.DataType] = {
    "run": pl.String(),
    "job": pl.Int64(),
    "began": TIME,
    "log": pl.String(),
    "program": pl.String(),
    "nprocs": pl.Int64(),
    "rank": pl.Int64(),
    "host": pl.String(),
    "pid": pl.Int64(),
    "threads": pl.Int64(),
    "operations": pl.Int64(),
    "bytes": pl.Int64(),
    "seconds": pl.Float64(),
    "median_s": pl.Float64(),
    "time_share": pl.Float64(),
    "first_time": TIME,
    "last_time": TIME,
    "certainty": pl.List(pl.String()),
}


def ranks(
    dataset: DatasetReader, *, run: str | None = None, job: int | None = None
) -> pl.LazyFrame:
    """One row per log and rank with traced operations.

    run: keeps one run (the directory of its logs, or the directory's name).
    job: keeps one job.

    Where a log traces a file in both DXT_POSIX and DXT_MPIIO, only the former counts.
    """
    wanted = named_run(dataset, run, job)

    def compute() -> pl.DataFrame:
        logs = logs_by_job(dataset, wanted, job)
        trace = dataset[SEGMENTS].join(logs.select("origin").lazy(), on="origin", how="semi")
        spent = ((pl.col("end_s") - pl.col("start_s")) * 1e9).round(0).cast(pl.Int64)
        per_rank = (
            traced_once(trace)
            .group_by("origin", "rank")
            .agg(
                host=pl.col("hostname").max(),
                pid=pl.col("pid").max(),
                threads=_known_threads(),
                operations=pl.len(),
                bytes=pl.col("length").sum(),
                seconds=spent.sum() / 1e9,
                first_time=pl.col("start_time").min(),
                last_time=pl.col("end_time").max(),
            )
            .collect(engine="streaming")
        )
        return (
            per_rank.join(logs, on="origin")
            .join(certainty(dataset, logs, "DXT_POSIX", "DXT_MPIIO"), on=KEY, nulls_equal=True)
            .with_columns(
                log=pl.col("origin").cast(pl.String),
                program=program_of(pl.col("exe")),
                median_s=pl.col("seconds").median().over("origin"),
                time_share=pl.when(pl.col("run_time_s") > 0).then(
                    pl.col("seconds") / pl.col("run_time_s")
                ),
            )
            .sort("run", "began", "job", "log", "rank", nulls_last=True)
        )

    return deferred(compute, RANKS)


def _known_threads() -> pl.Expr:
    threads = pl.col("thread").drop_nulls().n_unique()
    return pl.when(threads > 0).then(threads)
