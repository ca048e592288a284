"""What the views of Darshan logs stand on: the run of a log, and the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from harvest_toolkit.frames import directory_of

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["SEGMENTS", "TIME", "of_run", "run_of", "segments", "traced_once"]

SEGMENTS = "darshan.dxt_segment"
TIME = pl.Datetime("us", "UTC")

run_of = directory_of
"""The run of a log: its directory, which the logs of one run share."""


def of_run(frame: pl.LazyFrame, run: str | None) -> pl.LazyFrame:
    """The rows of one run, which is a directory that holds logs."""
    return frame if run is None else frame.filter(run_of(pl.col("origin")) == run)


def segments(dataset: DatasetReader, run: str | None) -> pl.LazyFrame:
    """All traced operations, or those of one run, in the order of the logs."""
    return of_run(dataset[SEGMENTS], run)


def traced_once(trace: pl.LazyFrame) -> pl.LazyFrame:
    """The trace without operations that speak of the same bytes as others.

    What a process does to a file through MPI-IO reaches it through POSIX.  Where a log traces a
    file in DXT_POSIX, its DXT_MPIIO operations on that file are left out.
    """
    posix = pl.col("module") == "DXT_POSIX"
    file = ["origin", "record_id"]
    return pl.concat(
        [
            trace.filter(posix),
            trace.filter(~posix).join(
                trace.filter(posix).select(file).unique(), on=file, how="anti"
            ),
        ]
    )
