"""Matching of each traced operation to the task that did it.

An operation belongs to a task if it began on the task's thread within the window in which the
worker executed the task.  If no window of the thread contains it, the worker's windows whose thread
is unknown are searched (``by elimination``: a task that failed has no thread).  All other
operations have no task and are kept without one.

The trace is read in batches; only windows and threads are in memory as a whole.
"""

from typing import Literal

import attrs
import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import known_sum, safe_sum

from ..frames import Frames, exact_sum, load, runs_of
from ..windows import thread_completions, windows
from .lanes import FOREVER, Lanes
from .ties import processes_of, runs_of_logs, ties, trace

MOVED = pl.when(pl.col("length") >= 0).then("length")
"""Bytes of an operation; null for an impossible number below 0."""

THREAD = ["origin", "rank", "thread"]
NAMED = ("dask.task_transition", "dask.worker_transition", "dask.worker", "dask.execution")


@attrs.frozen
class Correlation:
    """Threads, windows and operations, to match operations to tasks.

    threads: threads of the trace (origin, rank, thread, hostname, pid, run).
    tied: those that ran tasks, with worker, by_pid, candidates and ``slot``, the row's number;
        sorted by run, worker, thread.
    tasks: run, key and worker of all tasks that a tied worker executed; a task's number is its row.
    workers: run and worker of all workers in any record.
    captured: run, worker, host and pid of workers that recorded their process.
    operations: the trace of the chosen runs, lazily.
    """

    threads: pl.DataFrame
    tied: pl.DataFrame
    tasks: pl.DataFrame
    workers: pl.DataFrame
    captured: pl.DataFrame
    operations: pl.LazyFrame
    _lanes: Lanes
    _owners: pl.Series

    def totals(self) -> pl.DataFrame:
        """Sum up operations on task threads by task, slot, record_id, module and op.

        ``task`` is null for operations in no window.  Further columns: path, count, bytes, seconds,
        by_elimination, first_time, last_time.
        """
        return (
            self.with_tasks(self._on_lanes("inner"))
            .group_by("task", "slot", "record_id", "module", "op")
            .agg(
                path=pl.col("path").max(),
                count=pl.len().cast(pl.Int64),
                bytes=known_sum(MOVED),
                seconds=exact_sum(pl.col("end_s") - pl.col("start_s")),
                by_elimination=pl.col("spared").sum().cast(pl.Int64),
                first_time=pl.col("start_time").min(),
                last_time=pl.col("end_time").max(),
            )
            .collect(engine="streaming")
        )

    def coverage(self) -> pl.DataFrame:
        """Count the operations of each origin and rank on task threads and in windows."""
        on_task = pl.col("slot").is_not_null()
        in_window = pl.col("task").is_not_null()
        return (
            self.with_tasks(self._on_lanes("left"))
            .group_by("origin", "rank")
            .agg(
                segments=pl.len().cast(pl.Int64),
                task_segments=on_task.sum().cast(pl.Int64),
                window_segments=in_window.sum().cast(pl.Int64),
                by_elimination=pl.col("spared").sum().cast(pl.Int64),
                bytes=known_sum(MOVED),
                task_bytes=safe_sum(MOVED.filter(on_task)),
                window_bytes=safe_sum(MOVED.filter(in_window)),
            )
            .collect(engine="streaming")
        )

    def _on_lanes(self, how: Literal["inner", "left"]) -> pl.LazyFrame:
        lanes = self.tied.lazy().select(*THREAD, "slot", "lane", "spare")
        return self.operations.join(lanes, on=THREAD, how=how)

    def with_tasks(self, operations: pl.LazyFrame) -> pl.LazyFrame:
        """Add task (null: in no window) and spared (whether it was found by elimination)."""
        found = pl.struct("lane", "spare", "start_time").map_batches(
            self._find,
            return_dtype=pl.Struct({"task": pl.Int64, "spared": pl.Boolean}),
            is_elementwise=True,
        )
        return operations.with_columns(found=found).unnest("found")

    def _find(self, wanted: pl.Series) -> pl.Series:
        frame = wanted.struct.unnest()
        known = frame["start_time"].is_not_null()
        moment = frame["start_time"].to_physical().fill_null(0).to_numpy()
        window, other = (
            pl.Series(
                self._lanes.find(frame[name].set(~known, None).fill_null(-1).to_numpy(), moment)
            )
            for name in ("lane", "spare")
        )
        chosen = pl.select(
            w=pl.when(window >= 0).then(window).when(other >= 0).then(other),
            spared=(window < 0) & (other >= 0),
        )
        return chosen.select(
            pl.struct(task=self._owners.gather(chosen["w"]), spared="spared").alias(wanted.name)
        ).to_series()


def correlate(dataset: DatasetReader, run: str | None = None) -> Correlation:
    """Read the windows of tasks and the threads of the trace.

    run: directory of the only run to keep.
    """
    frames = load(dataset, NAMED, run=run)
    workers = (
        pl.concat(frame.select("run", "worker") for frame in frames.values())
        .drop_nulls("worker")
        .unique()
        .collect()
        .sort("run", "worker")
    )
    operations = trace(dataset)
    threads = processes_of(operations)
    captured, logs = _known(dataset, run), runs_of_logs(threads, runs_of(dataset))
    if run is not None:
        logs = logs.filter(pl.col("run") == run)
        operations = operations.join(logs.lazy().select("origin"), on="origin", how="semi")
    threads = threads.join(logs, on="origin")
    tied = ties(threads, _thread_spans(frames), captured)
    # windows of tied workers only: they may be a small part of a long record
    found = windows(frames, tied.select("run", "worker")).collect()
    lanes = _lane_numbers(tied)
    tasks = found.select("run", "key", "worker").unique(maintain_order=True)
    numbered = tasks.with_columns(task=pl.int_range(pl.len()))
    owners = found.join(numbered, on=["run", "key", "worker"], how="left", maintain_order="left")
    return Correlation(
        threads,
        tied.join(lanes, on=["run", "worker", "thread"], how="left").with_columns(
            slot=pl.int_range(pl.len())
        ),
        tasks,
        workers,
        captured,
        operations,
        Lanes.of(_lane_windows(found, lanes)),
        owners["task"],
    )


def _known(dataset: DatasetReader, run: str | None) -> pl.DataFrame:
    return (
        load(dataset, ("dask.process",), run=run)["dask.process"]
        .filter(pl.col("role") == "worker")
        .drop_nulls(["address", "pid"])
        .select("run", "host", "pid", worker="address")
        .unique()
        .collect()
    )


def _thread_spans(frames: Frames) -> pl.DataFrame:
    """Find from when until when each thread of a worker ran tasks, by any record."""
    columns = ("run", "worker", "thread")
    credited = thread_completions(frames["dask.task_transition"]).select(
        *columns, first=pl.min_horizontal("begins", "time"), last="time"
    )
    own = frames["dask.execution"].drop_nulls("thread")
    return (
        pl.concat([credited, own.select(*columns, first="begins", last="ends")])
        .group_by(columns)
        .agg(pl.col("first").min(), pl.col("last").max())
        .collect(engine="streaming")
    )


def _lane_numbers(tied: pl.DataFrame) -> pl.DataFrame:
    """Number the lanes: ``lane`` of each thread, ``spare`` of its worker's unknown threads."""
    return (
        tied.select("run", "worker", "thread")
        .unique()
        .sort("run", "worker", "thread")
        .with_columns(lane=pl.int_range(pl.len()))
        .with_columns(spare=pl.struct("run", "worker").rle_id().cast(pl.Int64) + pl.len())
    )


def _lane_windows(found: pl.DataFrame, lanes: pl.DataFrame) -> pl.DataFrame:
    timed = found.with_columns(window=pl.int_range(pl.len())).drop_nulls("start")
    numbered = timed.select(
        *("run", "worker", "thread", "window"),
        start=pl.col("start").to_physical(),
        end=pl.col("end").to_physical().fill_null(FOREVER),
    )
    shape = ["lane", "start", "end", "window"]
    known = numbered.join(lanes, on=["run", "worker", "thread"])
    spare = lanes.select("run", "worker", lane="spare").unique()
    unknown = numbered.filter(pl.col("thread").is_null()).join(spare, on=["run", "worker"])
    return pl.concat([known.select(shape), unknown.select(shape)])
