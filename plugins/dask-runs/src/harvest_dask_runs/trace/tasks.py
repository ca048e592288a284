"""Executions of tasks as slices of a trace, by worker and thread; above them the critical path."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from ..critical.waits import COMPUTING
from .tracks import (
    BATCH_ROWS,
    Tracks,
    args_of,
    event_rows,
    microseconds_since,
    numbers_of,
    with_lanes,
)

PATH_PLACE = 5
WORKER_PLACE = 100
UNKNOWN_PLACE = 90
TRANSFERS_PLACE = 1_000_000
LANES = 1_000


def place_tasks(found: pl.DataFrame, last_time: object) -> pl.DataFrame:
    """Executions of one run with ``lane`` and with an end.

    last_time: taken for the end of what was never seen to end.  Executions of which nothing
    records a time are left out.
    """
    end = pl.col("end").fill_null(pl.max_horizontal("start", pl.lit(last_time)))
    timed = found.with_columns(end=end).filter(
        pl.col("start").is_not_null() & pl.col("end").is_not_null()
    )
    return with_lanes(timed, ["worker", "thread"])


def worker_pid(tracks: Tracks, worker: str | None) -> int:
    """The process of a trace that stands for a worker."""
    if worker is None:
        return tracks.process(("worker", None), "worker not recorded", UNKNOWN_PLACE)
    return tracks.process(("worker", worker), f"worker {worker}", WORKER_PLACE)


def task_events(placed: pl.DataFrame, tracks: Tracks, start: int) -> Iterator[pl.DataFrame]:
    """Batches of events, one slice for each execution.

    placed: from ``place_tasks``; start: of the run, in microseconds of the epoch.
    """
    order: dict[tuple[str | None, int | None], int] = {}

    def number(worker: str | None, thread: int | None, lane: int) -> tuple[int, int]:
        pid = worker_pid(tracks, worker)
        place = order.setdefault((worker, thread), len(order)) * LANES + lane
        more = "" if lane == 0 else f" · overlap {lane}"
        name = "thread not recorded" if thread is None else f"thread {thread}"
        key = ("thread", thread, lane)
        return pid, tracks.thread(pid, key, name + more, min(place, TRANSFERS_PLACE))

    by = ["worker", "thread", "lane"]
    numbers = numbers_of(placed, by, number)
    yield tracks.news()
    for batch in placed.iter_slices(BATCH_ROWS):
        events = batch.join(numbers, on=by, how="left", nulls_equal=True).select(
            "pid",
            "tid",
            name=pl.coalesce("prefix", "key"),
            cat=pl.lit("task"),
            ph=pl.lit("X"),
            ts=microseconds_since(start, pl.col("start")),
            dur=(pl.col("end") - pl.col("start")).dt.total_microseconds(),
            args=args_of(
                key=pl.col("key"),
                outcome=pl.col("outcome").fill_null("not seen to end"),
                told_by=pl.when("by_scheduler", "by_worker")
                .then(pl.lit("scheduler and worker"))
                .when("by_scheduler")
                .then(pl.lit("scheduler"))
                .otherwise(pl.lit("worker")),
                begins_us=microseconds_since(start, pl.col("begins")),
                ends_us=microseconds_since(start, pl.col("ends")),
                size_bytes=pl.col("size_bytes"),
            ),
        )
        yield event_rows(events, tracks.run)


def path_events(path: pl.DataFrame, tracks: Tracks, start: int) -> Iterator[pl.DataFrame]:
    """Batches of events: a slice for each execution of the path, and for each wait before it.

    path: of one run, as of ``critical_path``; start: of the run, in microseconds of the epoch.
    """
    if path.is_empty():
        return
    pid = tracks.process(("critical path",), "critical path", PATH_PLACE)
    tid = tracks.thread(pid, ("critical path",), "executed, or waited for", 0)
    yield tracks.news()
    executed = pl.col("part") == COMPUTING
    for batch in path.iter_slices(BATCH_ROWS):
        events = batch.select(
            pid=pl.lit(pid, pl.Int64),
            tid=pl.lit(tid, pl.Int64),
            name=pl.when(executed).then(pl.coalesce("prefix", "key")).otherwise("part"),
            cat=pl.when(executed).then(pl.lit("path")).otherwise(pl.lit("path.wait")),
            ph=pl.lit("X"),
            ts=microseconds_since(start, pl.col("start")),
            dur=(pl.col("end") - pl.col("start")).dt.total_microseconds(),
            args=args_of(
                **{name: pl.col(name) for name in ("step", "key", "worker", "link", "after")}
            ),
        )
        yield event_rows(events, tracks.run)
