"""What Dask's logs say of trouble: memory, garbage collection, the event loop, dead workers.

The wordings are those of ``distributed`` from 2021 on.
"""

from __future__ import annotations

import polars as pl

NO_LINES = ("blind", "lost")
"""Kinds of events of captures that no log has: what their processes could not record."""


def log_signs(log: pl.LazyFrame, ends: pl.LazyFrame) -> pl.LazyFrame:
    """One row per run that has a log of its scheduler or workers.

    What no such log can say is null: of a worker's memory those of workers alone speak.

    ends: run, last_end: when its last execution ended; workers that die later count for nothing,
    as that is how some runs end.

    Columns: run; pauses: how often a worker stopped to take tasks for want of memory;
    memory_restarts: workers that a nanny ended for the same reason; unmanaged_warnings;
    gc_warnings, gc_worst_percent: of the CPU time; loop_warnings, loop_s, loop_worst_s: spells in
    which an event loop did not respond; deaths.
    """
    message = pl.col("message")
    gc = message.str.extract(r"full garbage collections took (\d+)% CPU time").cast(pl.Float64)
    loop = message.str.extract(r"Event loop was unresponsive in .*? for ([0-9.]*[0-9])s")
    death = pl.col("kind") == "death"
    died = death & (pl.col("time") < pl.col("last_end"))

    def lines(pattern: str) -> pl.Expr:
        said = message.str.contains(pattern).sum().cast(pl.Int64)
        return pl.when((pl.col("source") == "worker").any()).then(said)

    return (
        # spells without a record are rows, too, and no lines of a log
        log.filter(pl.col("source").is_in(["scheduler", "worker"]), ~pl.col("kind").is_in(NO_LINES))
        .join(ends, on="run", how="left")
        .with_columns(gc=gc, loop=loop.cast(pl.Float64, strict=False))
        .group_by("run")
        .agg(
            pauses=lines(r"memory usage\. Pausing worker"),
            memory_restarts=lines(r"exceeded \d+% memory budget"),
            unmanaged_warnings=lines(r"^(?:Unmanaged memory|Memory) use is high"),
            gc_warnings=pl.col("gc").count().cast(pl.Int64),
            gc_worst_percent=pl.col("gc").max(),
            loop_warnings=pl.col("loop").count().cast(pl.Int64),
            loop_s=pl.col("loop").sum(),
            loop_worst_s=pl.col("loop").max(),
            deaths=pl.when(~(death & died.is_null()).any()).then(died.sum().cast(pl.Int64)),
        )
    )
