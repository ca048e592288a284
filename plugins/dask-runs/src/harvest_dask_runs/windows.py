"""When each worker was executing each task, and on which thread.

A window opens when a worker's transitions of a task enter ``executing`` or ``long-running`` and
closes when they leave both.  A task that is ``cancelled`` or ``resumed`` meanwhile still holds its
thread (Dask counts it as running, too), so these two states prolong a window but do not open one.

The worker's transitions do not name the thread; the scheduler's processing -> memory does.  A
window that ends in memory takes the thread of the scheduler's execution of that task on that worker
that is nearest to its end.  A window without a recorded end takes the next execution by the
scheduler, and ends with it.  If the worker recorded its attempts, a window has the thread of its
attempt.  The thread of all other windows is unknown.

Captures have a row per attempt (``dask.execution``) next to the transitions that open and close
its window.  Attempts and closed windows of one task on one worker are paired backwards from the
last, since a record that lacks something lacks its beginning.  An attempt without a window becomes
a window.

The times of an attempt may be by the scheduler's clock: they are shifted as little as possible to
lie in the window, whose times are by the worker's clock.
"""

from typing import Final

import polars as pl

from harvest_toolkit.frames import deferred

from .frames import Frames

RUNNING = ("executing", "long-running")
HELD = ("cancelled", "resumed")
WORKER = ["run", "worker"]
ONE = [*WORKER, "key"]
ATTEMPT: Final[dict[str, pl.DataType]] = {
    **dict.fromkeys(("began", "ended"), pl.Datetime("us", "UTC")),
    "own_thread": pl.Int64(),
    "status": pl.String(),
}
"""Columns of an attempt: its times, its thread (pthread id), and how it ended."""
STATES: Final = {"finished": "memory"}
"""The state after an attempt, by its status, where the two words differ."""
SHAPE: dict[str, pl.DataType] = {
    **dict.fromkeys(("run", "key", "worker"), pl.String()),
    **dict.fromkeys(("start", "end"), pl.Datetime("us", "UTC")),
    "thread": pl.Int64(),
    "credited": pl.Boolean(),
    **ATTEMPT,
}


def completions(transitions: pl.LazyFrame) -> pl.LazyFrame:
    """Select finished executions by the scheduler: the transitions processing -> memory."""
    return transitions.filter(
        (pl.col("start_state") == "processing") & (pl.col("finish_state") == "memory")
    )


def thread_completions(transitions: pl.LazyFrame) -> pl.LazyFrame:
    """Select the completions whose worker and thread the scheduler recorded."""
    known = pl.col("worker").is_not_null() & pl.col("thread").is_not_null()
    return completions(transitions).filter(known)


def windows(frames: Frames, workers: pl.DataFrame | None = None) -> pl.LazyFrame:
    """Find the windows of all workers, or of some.

    workers: run and worker of those to keep.

    Columns: run, key, worker, start, end (null: open), thread (null: unknown), credited (whether it
    ended in memory on that thread), ATTEMPT; sorted by run, key, worker, start.
    """
    return deferred(lambda: _found(frames, workers), SHAPE)


def _found(frames: Frames, workers: pl.DataFrame | None) -> pl.DataFrame:
    def rows_of(name: str) -> pl.LazyFrame:
        named = frames[name].drop_nulls("worker")
        return named if workers is None else named.join(workers.lazy(), on=WORKER, how="semi")

    found = _windows(_changes(rows_of("dask.worker_transition")))
    done = thread_completions(rows_of("dask.task_transition"))
    finished = done.select(*ONE, "thread", done="time").collect(engine="streaming")
    threads = _with_attempts(_with_threads(found, finished), _attempts(rows_of("dask.execution")))
    return threads.with_columns(
        pl.coalesce("own_thread", "thread").alias("thread"), credited=pl.col("thread").is_not_null()
    ).sort("run", "key", "worker", "start", "end", "thread", nulls_last=True)


def _changes(transitions: pl.LazyFrame) -> pl.DataFrame:
    """Select transitions into and out of the states that concern windows."""
    concerned = [*RUNNING, *HELD]
    into = pl.col("finish_state")
    running = pl.when(~into.is_in(HELD)).then(into.is_in(RUNNING))
    return (
        transitions.filter(pl.col("start_state").is_in(concerned) | into.is_in(concerned))
        .select(*ONE, "time", "position", running=running, stored=into == "memory")
        .collect(engine="streaming")
    )


def _windows(changes: pl.DataFrame) -> pl.DataFrame:
    """Pair changes: ONE, start, end (null: never closed), stored (whether in memory)."""
    ordered = (
        changes.sort(*ONE, "time", "position", "running", nulls_last=True)
        .with_columns(one=pl.struct(ONE).rle_id())
        .with_columns(pl.col("running").forward_fill().over("one").fill_null(value=False))
        .with_columns(before=pl.col("running").shift(1).over("one").fill_null(value=False))
        # the remaining rows of a task alternately open and close a window
        .filter(pl.col("running") != pl.col("before"))
        .with_columns(
            end=pl.col("time").shift(-1).over("one"), stored=pl.col("stored").shift(-1).over("one")
        )
    )
    return ordered.filter("running").select(*ONE, "end", "stored", start="time")


def _with_threads(found: pl.DataFrame, done: pl.DataFrame) -> pl.DataFrame:
    """Add the thread to windows, by the scheduler's completions."""
    ended = found.filter(pl.col("stored") & pl.col("end").is_not_null())
    open_ = found.filter(pl.col("end").is_null())
    others = found.filter(~pl.col("stored") & pl.col("end").is_not_null())
    done = done.sort("done")
    nearest = ended.sort("end").join_asof(
        done, left_on="end", right_on="done", by=ONE, strategy="nearest", check_sortedness=False
    )
    next_done = open_.sort("start").join_asof(
        done, left_on="start", right_on="done", by=ONE, strategy="forward",
        check_sortedness=False, coalesce=False,
    )  # fmt: skip
    parts = [nearest, next_done.with_columns(end="done"), others]
    return pl.concat(parts, how="diagonal").select(*ONE, "start", "end", "thread")


def _attempts(executions: pl.LazyFrame) -> pl.DataFrame:
    """Select the attempts of workers, in order: ONE and the columns of an attempt."""
    return (
        # rescheduled attempts have no times, but their order is known
        executions.sort("origin", "position")
        .select(
            *ONE,
            began="begins",
            ended="ends",
            own_thread="thread",
            status=pl.col("status").replace(STATES),
        )
        .collect(engine="streaming")
    )


def _with_attempts(found: pl.DataFrame, attempts: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of attempts to windows; attempts without a window become windows.

    found: ONE, start, end (null: open), thread.  For an attempt that finished without a
    window, ``thread`` is its own thread.
    """
    if attempts.is_empty():
        return found.with_columns(pl.lit(None, kind).alias(name) for name, kind in ATTEMPT.items())
    closed = pl.col("end").is_not_null()
    on = [*ONE, "nth"]
    windows = found.sort("start", descending=True).with_columns(
        nth=pl.when(closed).then(closed.cum_sum().over(ONE).cast(pl.Int64) - 1)
    )
    numbered = attempts.reverse().with_columns(nth=pl.int_range(pl.len()).over(ONE))
    lasted = pl.col("ended") - pl.col("began")
    latest = pl.max_horizontal("start", pl.col("end") - lasted)
    began = pl.min_horizontal(pl.max_horizontal("began", "start"), latest)
    ended = pl.min_horizontal(began + lasted, "end")
    tied = windows.join(numbered, on=on, how="left").with_columns(
        # moved into the window
        began=pl.when(lasted.is_not_null()).then(began),
        ended=pl.when(lasted.is_not_null()).then(ended),
    )
    thread = pl.when(pl.col("status") == "memory").then("own_thread")
    alone = numbered.join(windows, on=on, how="anti").with_columns(
        start="began", end="ended", thread=thread
    )
    return pl.concat([tied, alone], how="diagonal").drop("nth")
