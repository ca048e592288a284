"""The view ``io.processes``: what was traced of each log's I/O, and what was counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from harvest.toolkit.deferred import deferred

from .counters import counter_rows
from .files import traced_files
from .frames import of_run, run_of

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["processes"]

OPS = ("read", "write")
SUMS = tuple(
    f"{what}_{op}_bytes" for what in ("traced", "counted", "untraced", "stdio") for op in OPS
)
PROCESSES: dict[str, pl.DataType] = {
    "run": pl.String(),
    "log": pl.String(),
    "host": pl.String(),
    "pid": pl.Int64(),
    "exe": pl.String(),
    "nprocs": pl.Int64(),
    **{name: pl.Int64() for name in SUMS},
    "partial_modules": pl.List(pl.String()),
}


def processes(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """One row per log: bytes traced, bytes counted, and the difference.

    A log is that of one process, or of all processes of an MPI program (``nprocs``).

    run: keeps one run (the directory of its logs, or the directory's name).
    """
    return deferred(lambda: _processes(dataset, run), PROCESSES)


def _processes(dataset: DatasetReader, run: str | None) -> pl.DataFrame:
    traced = traced_files(dataset, run)
    counted = counter_rows(dataset, run, traced.clear())
    buffered = counted.filter(pl.col("module") == "STDIO")
    jobs = of_run(dataset["darshan.job"], run).select(
        *("exe", "pid", "nprocs", "partial_modules"),
        run=run_of(pl.col("origin")),
        log=pl.col("origin").cast(pl.String),
        host="hostname",
    )
    found = jobs.collect()
    for what, frame in (("traced", traced), ("counted", counted), ("stdio", buffered)):
        found = found.join(_sums(frame, what), on="log", how="left")
    return (
        found.with_columns(pl.col("^.*_bytes$").fill_null(0))
        .with_columns(
            (pl.col(f"counted_{op}_bytes") - pl.col(f"traced_{op}_bytes")).alias(
                f"untraced_{op}_bytes"
            )
            for op in OPS
        )
        .sort("run", "log")
    )


def _sums(files: pl.DataFrame, what: str) -> pl.DataFrame:
    return files.group_by(log=pl.col("origin").cast(pl.String)).agg(
        pl.col("bytes").filter(pl.col("op") == op).sum().alias(f"{what}_{op}_bytes") for op in OPS
    )
