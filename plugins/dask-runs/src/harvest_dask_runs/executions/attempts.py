"""What workers recorded of single attempts to execute a task: exact times, and the thread.

Captures have a row per attempt (``dask.execution``) beside the transitions, which open and close
its window.  A window takes the attempt in its place: of one task on one worker, the last attempt is
that of the last window that closed, and so on backwards, since what a record lacks is its
beginning.  An attempt without a window is one of its own.

The times of an attempt may be by the scheduler's clock: they are moved by as little as brings them
into the window, which the worker's own clock has.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from ..frames import Frames

ONE: Final = ["home", "key"]
ATTEMPT: Final[dict[str, pl.DataType]] = {
    "began": pl.Datetime("us", "UTC"),
    "ended": pl.Datetime("us", "UTC"),
    "own_thread": pl.Int64(),
    "status": pl.String(),
}
"""Of an attempt: its times, its thread (pthread id), and how it ended."""
STATES: Final = {"finished": "memory"}
"""How an attempt ended, as the state into which the task left, where it is called otherwise."""


def attempts_of(frames: Frames, homes: pl.DataFrame) -> pl.DataFrame:
    """The attempts of some workers: home, key and the columns of an attempt, in their order."""
    return (
        frames["dask.execution"]
        .join(homes.lazy(), on=["run", "worker"])
        .sort("begins", "origin", "position", nulls_last=True)
        .select(
            *ONE,
            began="begins",
            ended="ends",
            own_thread="thread",
            status=pl.col("status").replace(STATES),
        )
        .collect(engine="streaming")
    )


def with_attempts(found: pl.DataFrame, attempts: pl.DataFrame) -> pl.DataFrame:
    """Windows with the columns of their attempt, and attempts that have no window as windows.

    found: home, key, start, end (null: open), thread.  An attempt that finished without a window
    has its own thread as ``thread``, too.
    """
    if attempts.is_empty():
        return found.with_columns(pl.lit(None, kind).alias(name) for name, kind in ATTEMPT.items())
    closed = pl.col("end").is_not_null()
    on = [*ONE, "nth"]
    windows = found.sort("start", descending=True).with_columns(
        nth=pl.when(closed).then(closed.cum_sum().over(ONE).cast(pl.Int64) - 1)
    )
    numbered = attempts.reverse().with_columns(nth=pl.int_range(pl.len()).over(ONE))
    tied = windows.join(numbered, on=on, how="left").with_columns(_moved_into_the_window())
    thread = pl.when(pl.col("status") == "memory").then("own_thread")
    alone = numbered.join(windows, on=on, how="anti").with_columns(
        start="began", end="ended", thread=thread
    )
    return pl.concat([tied, alone], how="diagonal").drop("nth")


def _moved_into_the_window() -> list[pl.Expr]:
    lasted = pl.col("ended") - pl.col("began")
    latest = pl.max_horizontal("start", pl.col("end") - lasted)
    began = pl.min_horizontal(pl.max_horizontal("began", "start"), latest)
    known = lasted.is_not_null()
    return [
        pl.when(known).then(began).alias("began"),
        pl.when(known).then(pl.min_horizontal(began + lasted, "end")).alias("ended"),
    ]
