"""Executions of tasks: when, on which worker and thread, from all that is told of them.

The scheduler credits an execution to a worker and thread (processing -> memory) with the times
``begins`` and ``ends``, which it may have corrected for the clocks' difference by as much as two
seconds.  The worker itself tells when the task was executing.  Its own window is preferred, as
the I/O that the operating system saw falls into it; where the worker told nothing, the
scheduler's times are taken.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from .views_frames import Frames

__all__ = ["EXECUTION_TYPES", "executions"]

EXECUTION_TYPES: Final = ("dask.task_transition", "dask.worker_transition")

RUNNING: Final = ("executing", "long-running")
ONE: Final = ["run", "worker", "key"]


def executions(frames: Frames) -> pl.LazyFrame:
    """One row per execution, from frames that carry the column ``run``.

    Columns:

    - run, worker, key, prefix;
    - thread: pthread id; null where the scheduler credits the execution to nobody (it failed, was
      cancelled, or never ended);
    - start, end: the worker's own window where it told one, else begins and ends; end is null
      where the execution was never seen to end;
    - begins, ends, duration_s, size_bytes: as the scheduler has them;
    - outcome: state into which the task left (memory, error, released, ...), null if none did;
    - by_scheduler, by_worker: who told of it.

    A worker's n-th window of a key that ended in memory is the n-th execution of that key that
    the scheduler credits to the worker.
    """
    prefixes = (
        frames["dask.task_transition"]
        .filter(pl.col("prefix").is_not_null())
        .group_by("run", "key")
        .agg(known_prefix=pl.col("prefix").first())
    )
    nth = [*ONE, "outcome", "nth"]
    return (
        _credited(frames["dask.task_transition"])
        .join(_windows(frames["dask.worker_transition"]), on=nth, how="full", coalesce=True)
        .join(prefixes, on=["run", "key"], how="left")
        .with_columns(
            # a window that never closed has a start, and its execution no end
            start=pl.coalesce(
                "window_start",
                "begins",
                pl.col("time") - pl.duration(microseconds=(pl.col("duration_s").fill_null(0) * 1e6).cast(pl.Int64)),
            ),
            end=pl.when(pl.col("window_start").is_not_null())
            .then("window_end")
            .otherwise(pl.coalesce("ends", "time")),
            by_scheduler=pl.col("time").is_not_null(),
            by_worker=pl.col("window_start").is_not_null(),
        )
        .select(
            *ONE,
            pl.coalesce("prefix", "known_prefix").alias("prefix"),
            "thread",
            "start",
            pl.when(pl.col("end").is_not_null()).then(pl.max_horizontal("start", "end")).alias("end"),
            *("begins", "ends", "duration_s", "size_bytes", "outcome"),
            *("by_scheduler", "by_worker"),
        )
        .sort("run", "worker", "start", "key", nulls_last=True)
    )


def _credited(transitions: pl.LazyFrame) -> pl.LazyFrame:
    """Executions as the scheduler tells them, numbered per worker and key."""
    return (
        transitions.filter(
            (pl.col("start_state") == "processing") & (pl.col("finish_state") == "memory")
        )
        .sort("time", "position")
        .select(
            *ONE,
            *("prefix", "thread", "time", "begins", "ends", "duration_s", "size_bytes"),
            outcome=pl.lit("memory"),
            nth=pl.int_range(pl.len()).over(ONE),
        )
    )


def _windows(transitions: pl.LazyFrame) -> pl.LazyFrame:
    """Windows in which a worker was executing a task, numbered per worker, key and outcome."""
    was = pl.col("start_state").is_in(RUNNING)
    becomes = pl.col("finish_state").is_in(RUNNING)
    left = ~pl.col("enters").shift(-1).over(ONE)
    return (
        transitions.filter((was != becomes) & pl.col("worker").is_not_null())
        .sort("time", "position")
        .select(*ONE, "time", "finish_state", enters=becomes)
        .with_columns(
            window_end=pl.when(left).then(pl.col("time").shift(-1).over(ONE)),
            outcome=pl.when(left).then(pl.col("finish_state").shift(-1).over(ONE)),
        )
        .filter("enters")
        .select(
            *ONE,
            "outcome",
            "window_end",
            window_start="time",
            nth=pl.int_range(pl.len()).over([*ONE, "outcome"]),
        )
    )
