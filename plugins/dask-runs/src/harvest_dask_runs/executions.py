"""Executions of tasks: when, on which worker and thread, from all that is recorded of them.

This is the one definition of an execution; every view and report counts these.  Either record may
be missing:

- The scheduler credits an execution to a worker and thread (processing -> memory), with its
  duration, the size of the result, and the times ``begins`` and ``ends``, which it may have
  corrected for the clocks' difference by as much as two seconds.
- The worker itself records when the task was executing (see ``windows``); captures have each
  attempt with its exact times and its thread (see ``windows``).
"""

from typing import Final

import polars as pl

from harvest.model.frames import seconds
from harvest_dask.records.key_prefixes import prefix_of

from .frames import Frames, possible_seconds
from .windows import completions, windows

ONE: Final = ["run", "worker", "key"]
NTH: Final = [*ONE, "with_thread", "nth"]


def executions(frames: Frames) -> pl.LazyFrame:
    """One row per execution, from frames that carry the column ``run``.

    Columns:

    - run, worker, key;
    - prefix: as the scheduler recorded it of the task, else derived from the key (``prefix_of``);
    - thread: pthread id; null if the worker recorded none and the scheduler does not credit the
      execution to a thread (it failed, was cancelled, or never ended);
    - start, end: the worker's own attempt or window where it recorded one, since traced I/O falls
      into it, else begins and ends; end is null where the execution was never seen to end, or
      its start is unknown;
    - opened, closed: the worker's window, which may be longer: the task held its thread;
    - began, ended: begins and ends, else start and end;
    - seconds: its duration, else end - start; null where end is;
    - begins, ends, duration_s, size_bytes: as the scheduler has them;
    - outcome: state after it (memory, error, released, ...), null if none is recorded;
    - recorded: time of its last record, by the scheduler or else by the worker;
    - by_scheduler, by_worker: who recorded it.

    Of one key on one worker, the n-th window that ended in memory on a known thread is the n-th
    execution that the scheduler credits to the worker.
    """
    prefixes = frames["dask.task_transition"].drop_nulls("prefix").group_by("run", "key")
    credited = pl.col("time").is_not_null()
    began, ended = pl.coalesce("begins", "start"), pl.coalesce("ends", "end")
    spent = seconds((pl.col("end") - pl.col("start")).dt.total_microseconds())
    return (
        _credits(frames)
        .join(_windows(frames), on=NTH, how="full", coalesce=True)
        .join(prefixes.agg(known_prefix=pl.col("prefix").first()), on=["run", "key"], how="left")
        .select(
            *ONE,
            pl.coalesce("prefix", "known_prefix", prefix_of(pl.col("key"))).alias("prefix"),
            pl.coalesce("thread", "window_thread").alias("thread"),
            *_start_and_end(),
            pl.col("window_start").alias("opened"),
            pl.col("window_end").alias("closed"),
            *("begins", "ends", "duration_s", "size_bytes"),
            outcome=pl.when(credited).then(pl.lit("memory")).otherwise("outcome"),
            recorded=pl.coalesce("time", "window_end", "window_start"),
            by_scheduler=credited,
            by_worker=pl.col("by_worker").is_not_null(),
        )
        .with_columns(began=began, ended=ended, seconds=pl.coalesce("duration_s", spent))
        .sort("run", "worker", "start", "key", nulls_last=True)
    )


def _start_and_end() -> tuple[pl.Expr, pl.Expr]:
    """Choose the times of an execution: the worker's attempt or window, else the scheduler's."""
    lasted = pl.duration(microseconds=(pl.col("duration_s") * 1e6).round().cast(pl.Int64))
    begun = pl.coalesce("window_began", "window_start", "begins", pl.col("time") - lasted)
    start = pl.coalesce(begun, "time")
    closed = pl.col("outcome").is_not_null()
    # without the end of the window, the duration is more certain than another clock's time
    end = pl.coalesce(
        "window_ended",
        pl.when(closed).then("window_end"),
        pl.col("window_start") + lasted,
        pl.when(pl.col("window_start").is_null()).then(pl.coalesce("ends", "time")),
        "window_end",
    )
    # from its time alone nothing is known of how long it ran
    end = pl.when(begun.is_not_null() & end.is_not_null()).then(pl.max_horizontal(end, start))
    return start.alias("start"), end.alias("end")


def _credits(frames: Frames) -> pl.LazyFrame:
    """Select the executions that the scheduler recorded, numbered per worker and key.

    One without a worker is left out if a worker recorded the task itself.
    """
    done, unnamed = completions(frames["dask.task_transition"]), pl.col("worker").is_null()
    named = pl.concat(
        frames[kind].filter(~unnamed).select("run", "key")
        for kind in ("dask.worker_transition", "dask.execution")
    )
    strange = done.filter(unnamed).join(named, on=["run", "key"], how="anti")
    return (
        pl.concat([done.filter(~unnamed), strange])
        .sort("time", "position")
        .with_columns(with_thread=pl.col("thread").is_not_null())
        .select(
            *ONE,
            *("prefix", "thread", "time", "begins", "ends", "size_bytes", "with_thread"),
            duration_s=possible_seconds("duration_s"),
            nth=pl.int_range(pl.len()).over([*ONE, "with_thread"]),
        )
    )


def _windows(frames: Frames) -> pl.LazyFrame:
    """Number the windows in which a worker executed a task, and add the state that ended them."""
    left = (
        frames["dask.worker_transition"]
        .group_by(*ONE, end="time")
        .agg(outcome=pl.col("finish_state").sort_by("position").last())
    )
    return (
        windows(frames)
        .join(left, on=[*ONE, "end"], how="left", maintain_order="left")
        .select(
            *ONE,
            with_thread="credited",
            window_thread="thread",
            window_start="start",
            window_end="end",
            window_began="began",
            window_ended="ended",
            # the worker's transitions show a rescheduled task as released
            outcome=pl.when(pl.col("status") == "rescheduled")
            .then("status")
            .otherwise(pl.coalesce("outcome", "status")),
            by_worker=pl.lit(value=True),
            nth=pl.int_range(pl.len()).over([*ONE, "credited"]),
        )
    )
