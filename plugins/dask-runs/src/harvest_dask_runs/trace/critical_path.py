"""The critical path as slices of a trace: a track of its own, above all workers."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from ..critical.waits import COMPUTING
from .tracks import BATCH_ROWS, Tracks, args_of, event_rows, microseconds_since

PATH_PLACE = 5


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
