"""What the views of Darshan logs stand on: the run of a log, and the trace."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import directory_of, whole_nanoseconds

SEGMENTS = "darshan.dxt_segment"

ORIGIN = pl.col("origin").cast(pl.String)
"""The path of a log, comparable with those of other frames."""


def run_of(log: str = "origin") -> pl.Expr:
    """The run of a log: its directory, which the logs of one run share."""
    return directory_of(pl.col(log))


def of_run(frame: pl.LazyFrame, run: str | None) -> pl.LazyFrame:
    """The rows of one run, which is a directory that holds logs."""
    return frame if run is None else frame.filter(run_of() == run)


def segments(dataset: DatasetReader, run: str | None) -> pl.LazyFrame:
    """All traced operations, or those of one run, in the order of the logs."""
    return of_run(dataset[SEGMENTS], run)


def spent_ns() -> pl.Expr:
    """Nanoseconds of a traced operation, whole, so that sums do not depend on the order of rows.

    Null where no operation can have such times, as where it ends before it begins.
    """
    spent = whole_nanoseconds(pl.col("end_s") - pl.col("start_s"))
    return pl.when(spent >= 0).then(spent)


def traced_once(trace: pl.LazyFrame) -> pl.LazyFrame:
    """The trace without operations that speak of the same bytes as others.

    What a process does to a file through MPI-IO reaches it through POSIX.  Where a log traces a
    file in DXT_POSIX, its DXT_MPIIO operations on that file are left out.
    """
    file = ["origin", "record_id"]
    posix = trace.filter(pl.col("module") == "DXT_POSIX")
    other = trace.filter(pl.col("module") != "DXT_POSIX")
    return pl.concat([posix, other.join(posix.select(file).unique(), on=file, how="anti")])
