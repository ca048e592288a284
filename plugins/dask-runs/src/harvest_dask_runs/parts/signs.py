"""Signs of trouble: lines of Dask's logs, and the memory of workers as captures sampled it.

The wordings are those of ``distributed`` from 2021 on.
"""

import polars as pl

from harvest_toolkit.frames import count_if_known, fraction, known_sum

from ..frames import Frames

NO_LINES = ("blind", "lost")
"""Kinds of events that only captures have, about what a process could not record."""


def log_signs(log: pl.LazyFrame, ends: pl.LazyFrame) -> pl.LazyFrame:
    """Count a run's log lines about trouble: a row per run with a log of its scheduler or workers.

    Counts of memory warnings are null without a log of workers.

    ends: run, last_end (end of its last execution).  Workers that die later are not counted, since
    some runs end in this way.

    Columns: run, deaths (of workers), and those of ``dask.indicators`` that come from logs.
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
        # times without a record are rows, too, but not lines of a log
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


def memory_use(frames: Frames) -> pl.LazyFrame:
    """Sum up the samples of workers' memory: a row per run whose workers were sampled.

    The columns are run and those of ``dask.indicators`` that come from samples.
    """
    one = ["run", "worker"]
    worker = pl.col("worker").filter(pl.col("share").is_not_null())
    limits = pl.concat(
        [
            frames["dask.process"].select("run", "memory_limit_bytes", worker="address"),
            frames["dask.worker"].select("run", "memory_limit_bytes", worker="worker"),
        ]
    )
    limit = limits.group_by(one).agg(limit=pl.col("memory_limit_bytes").max())
    return (
        frames["dask.worker_sample"]
        .filter(pl.col("role") == "worker", pl.col("address").is_not_null())
        # counts since the process began: a worker that came back counts from 0 again
        .group_by("run", "origin", worker="address")
        .agg(
            # workers that count no spills may still hold results on disk
            spilled=pl.max_horizontal(pl.col("spill_bytes").max(), pl.col("spilled_bytes").max()),
            memory=pl.col("memory_bytes").max(),
        )
        .join(limit, on=one, how="left")
        .with_columns(share=fraction("memory", "limit"))
        .sort("share", "worker", descending=[True, False], nulls_last=True)
        .group_by("run", maintain_order=True)
        .agg(
            sampled_workers=worker.n_unique().cast(pl.Int64),
            spilled_bytes=known_sum("spilled"),
            spilling_workers=count_if_known(pl.col("spilled") > 0),
            memory_peak_share=pl.col("share").first(),
            memory_peak_worker=worker.first(),
        )
        .with_columns(pl.when(pl.col("sampled_workers") > 0).then("sampled_workers"))
    )
