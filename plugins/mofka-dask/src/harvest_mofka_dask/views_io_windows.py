"""When each worker was executing each task, and on which thread.

A window opens when the worker's transitions of a task enter ``executing`` or ``long-running`` and
closes when they leave both.  A task that is ``cancelled`` or ``resumed`` meanwhile still holds its
thread (Dask counts it as running, too), so these two states prolong a window but open none.

The worker does not tell the thread; the scheduler's processing -> memory does.  A window that ends
in memory takes the thread of the execution of that task on that worker that the scheduler saw
nearest to its end.  A window that never closes, since its end was not recorded, takes the next
execution that the scheduler saw, and ends with it.  The thread of all others is not known.
"""

from __future__ import annotations

import polars as pl

from .views_frames import Frames

__all__ = ["executions", "windows"]

RUNNING = ("executing", "long-running")
HELD = ("cancelled", "resumed")
ONE = ["run", "worker", "key"]


def executions(transitions: pl.LazyFrame) -> pl.LazyFrame:
    """What the scheduler saw done: (run, worker, key, thread, done), from processing -> memory."""
    return transitions.filter(
        (pl.col("start_state") == "processing")
        & (pl.col("finish_state") == "memory")
        & pl.col("worker").is_not_null()
        & pl.col("thread").is_not_null()
    ).select(*ONE, "thread", done="time")


def windows(frames: Frames) -> pl.LazyFrame:
    """One row per window: run, key, worker, start, end (null: open), thread (null: not known).

    Sorted by run, key, worker and start.
    """
    found = _windows(frames["dask.worker_transition"])
    done = executions(frames["dask.task_transition"]).sort("done")
    stored = (
        found.filter(pl.col("end").is_not_null() & (pl.col("into") == "memory"))
        .sort("end")
        .join_asof(
            done,
            left_on="end",
            right_on="done",
            by=ONE,
            strategy="nearest",
            check_sortedness=False,
        )
    )
    unclosed = (
        found.filter(pl.col("end").is_null())
        .sort("start")
        .join_asof(
            done,
            left_on="start",
            right_on="done",
            by=ONE,
            strategy="forward",
            check_sortedness=False,
            coalesce=False,
        )
        .with_columns(end=pl.col("done"))
    )
    others = found.filter(pl.col("end").is_not_null() & (pl.col("into") != "memory"))
    shape = ["run", "key", "worker", "start", "end", "thread"]
    return pl.concat(
        [
            stored.select(shape),
            unclosed.select(shape),
            others.with_columns(thread=pl.lit(None, dtype=pl.Int64)).select(shape),
        ]
    ).sort("run", "key", "worker", "start", "end", "thread", nulls_last=True)


def _windows(transitions: pl.LazyFrame) -> pl.LazyFrame:
    concerned = [*RUNNING, *HELD]
    into = pl.col("finish_state")
    running = (
        pl.when(into.is_in(RUNNING))
        .then(statement=True)
        .when(into.is_in(HELD))
        .then(pl.lit(None, dtype=pl.Boolean))
        .otherwise(statement=False)
    )
    changes = (
        transitions.filter(
            pl.col("worker").is_not_null()
            & (pl.col("start_state").is_in(concerned) | into.is_in(concerned))
        )
        .select(*ONE, "time", "position", into="finish_state", running=running)
        .sort(*ONE, "time", "position")
        .with_columns(task=pl.struct(ONE).rle_id())
        .with_columns(pl.col("running").forward_fill().over("task").fill_null(value=False))
        .with_columns(before=pl.col("running").shift(1).over("task").fill_null(value=False))
        .filter(pl.col("running") != pl.col("before"))
    )
    # what is left of a task opens and closes in turn
    following = pl.col("time", "into").shift(-1).over("task")
    return (
        changes.with_columns(following.name.prefix("next_"))
        .filter("running")
        .select(*ONE, start="time", end="next_time", into=pl.col("next_into").fill_null("open"))
    )
