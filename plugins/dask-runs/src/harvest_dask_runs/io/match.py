"""Tying each traced operation to the task that did it.

An operation belongs to a task when its thread ran the task, and began within the window in which
the worker executed it.  Where no window of the thread holds it, the worker's windows whose thread
is not known are looked through (``by elimination``: a task that failed has no thread).  What is
left belongs to no task, and stays visible as such.

The trace is read in batches and never held as a whole; windows and threads are.

Windows lie in lanes: those of one thread, or those of one worker whose thread is not known.
Within a lane, the windows are cut into pieces that do not overlap, so that the one that holds a
moment is found by binary search.  Where windows of a lane overlap (a thread runs one task at a
time, so this is rare), the one that began last holds the moment; of those that began together, the
one that ends first; then the first in order of key.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

import attrs
import numpy as np
import polars as pl
from numpy.typing import NDArray

from harvest import DatasetReader
from harvest_toolkit.frames import known_sum, safe_sum

from ..executions.windows import thread_completions, windows_of
from ..frames import Frames, exact_sum, load, runs_of
from .ties import processes_of, runs_of_logs, ties, trace

MOVED = pl.when(pl.col("length") >= 0).then("length")
"""Bytes of an operation; null below 0, which none moves."""

THREAD = ["origin", "rank", "thread"]
NAMED = ("dask.task_transition", "dask.worker_transition", "dask.worker", "dask.execution")

FOREVER: Final = 2**62
"""The end, in microseconds, of a window that never closes."""

Ints: TypeAlias = NDArray[np.int64]


@attrs.frozen
class Lanes:
    """The pieces of all lanes, in order of lane and time; times in microseconds after 1970.

    times: all different beginnings of pieces, ascending.
    codes: of each piece, lane and number of its beginning as one ascending integer.
    ends, windows: of each piece, its last moment and the number of its window.
    """

    times: Ints
    codes: Ints
    ends: Ints
    windows: Ints

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Lanes:
        """From columns lane, start, end and window, all int64."""
        pieces = _pieces(frame).sort("lane", "start")
        lane, start = _ints(pieces, "lane"), _ints(pieces, "start")
        times = np.unique(start)
        codes = lane * (len(times) + 1) + np.searchsorted(times, start, side="right")
        return cls(times, codes, _ints(pieces, "end"), _ints(pieces, "window"))

    def find(self, lanes: Ints, moments: Ints) -> Ints:
        """The window in each lane at each moment; -1 where there is none, or no lane (-1)."""
        if not len(self.codes):
            return np.full(len(lanes), -1, np.int64)
        # the last piece that begins at or before the moment has the greatest code up to this one
        number = np.searchsorted(self.times, moments, side="right")
        place = np.searchsorted(self.codes, lanes * (len(self.times) + 1) + number, "right") - 1
        piece = np.maximum(place, 0)
        held = (
            (lanes >= 0)
            & (place >= 0)
            & (self.codes[piece] // (len(self.times) + 1) == lanes)
            & (moments <= self.ends[piece])
        )
        return np.where(held, self.windows[piece], -1)


def _ints(frame: pl.DataFrame, column: str) -> Ints:
    return np.ascontiguousarray(frame[column].to_numpy(), dtype=np.int64)


def _pieces(frame: pl.DataFrame) -> pl.DataFrame:
    shape = ["lane", "start", "end", "window"]
    reach = pl.col("end").cum_max().shift(1).over("lane")
    grouped = (
        frame.select(shape)
        .sort("lane", "start", "end", "window")
        .with_columns(cluster=(reach.is_null() | (pl.col("start") > reach)).cum_sum())
        .with_columns(size=pl.len().over("cluster"))
    )
    alone = grouped.filter(pl.col("size") == 1).select(shape)
    tangled = grouped.filter(pl.col("size") > 1)
    clusters = tangled.group_by("cluster", "lane", maintain_order=True).agg(shape[1:])
    cut = [
        (lane, *piece)
        for _, lane, *windows in clusters.iter_rows()
        for piece in _cut([*zip(*windows, strict=True)])
    ]
    schema = {name: pl.Int64() for name in shape}
    return pl.concat([alone, pl.DataFrame(cut, schema=schema, orient="row")])


def _cut(windows: list[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Windows (start, end, number) by start, as pieces that do not overlap; ends are included."""
    held: list[tuple[int, int, int]] = []
    now = windows[0][0]
    for start, end, number in [*windows, (FOREVER + 1, FOREVER, -1)]:
        while held and now < start:
            _, last, owner = held[0]
            if last < now:
                heapq.heappop(held)
                continue
            until = min(last, start - 1)
            yield now, until, owner
            now = until + 1
        now = max(now, start)
        heapq.heappush(held, (-start, end, number))


@attrs.frozen
class Correlation:
    """What is needed to tie operations to tasks.

    threads: the trace's threads (origin, rank, thread, hostname, pid, run).
    tied: those that ran tasks, with worker, by_pid, candidates and a number ``slot``, their row;
        sorted by run, worker, thread.
    tasks: run, key, worker, of all tasks executed on a tied worker; a task's row is its number.
    workers: run and worker, of all workers that any record names.
    captured: run, worker, host and pid of those that recorded their process.
    runs: the run directories of the dataset.
    operations: the trace of the chosen runs, lazily.
    """

    threads: pl.DataFrame
    tied: pl.DataFrame
    tasks: pl.DataFrame
    workers: pl.DataFrame
    captured: pl.DataFrame
    runs: list[str]
    operations: pl.LazyFrame
    _lanes: Lanes
    _owners: pl.Series

    def totals(self, by: Sequence[str]) -> pl.DataFrame:
        """Sums of the operations on task threads by some of slot, task, record_id, module, op.

        ``task`` is null for operations in no window.  Columns beside: count, bytes, seconds,
        by_elimination, first_time, last_time.
        """
        return (
            self.with_tasks(self._on_lanes("inner"))
            .group_by(by)
            .agg(
                count=pl.len().cast(pl.Int64),
                bytes=known_sum(MOVED),
                seconds=exact_sum(pl.col("end_s") - pl.col("start_s")),
                by_elimination=pl.col("spared").sum().cast(pl.Int64),
                first_time=pl.col("start_time").min(),
                last_time=pl.col("end_time").max(),
            )
            .collect(engine="streaming")
        )

    def files(self) -> pl.DataFrame:
        """The names of files on task threads: origin, record_id, path."""
        return (
            self.operations.join(self.tied.lazy(), on=THREAD, how="semi")
            .group_by("origin", "record_id")
            .agg(pl.col("path").max())
            .collect(engine="streaming")
        )

    def coverage(self) -> pl.DataFrame:
        """Per origin and rank: what part of its operations is on task threads and in windows."""
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
        """With task (null: in no window) and spared (whether it was found by elimination)."""
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
    """Read what is known of tasks, and which threads the trace has.

    run: keeps one run, by its directory.
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
    runs, captured = runs_of(dataset), _known(dataset, run)
    logs = runs_of_logs(threads, runs)
    if run is not None:
        logs = logs.filter(pl.col("run") == run)
        operations = operations.join(logs.lazy().select("origin"), on="origin", how="semi")
    threads = threads.join(logs, on="origin")
    tied = ties(threads, _thread_spans(frames), captured)
    # windows of tied workers only: they may be a small part of a long record
    homes = tied.select("run", "worker").unique().sort("run", "worker").with_row_index("home")
    found = windows_of(frames, homes)
    lanes = _lane_numbers(tied, homes)
    first = found.frame["task"] != found.frame["task"].shift(1)
    tasks = found.frame.filter(first.fill_null(value=True))
    return Correlation(
        threads,
        tied.join(lanes, on=["run", "worker", "thread"], how="left")
        .with_row_index("slot")
        .with_columns(pl.col("slot").cast(pl.Int64)),
        tasks.select(
            homes["run"].gather(tasks["home"]).alias("run"),
            found.keys.gather(tasks["key"]).alias("key"),
            homes["worker"].gather(tasks["home"]).alias("worker"),
        ),
        workers,
        captured,
        runs,
        operations,
        Lanes.of(_lane_windows(found.frame, lanes)),
        found.frame["task"],
    )


def _known(dataset: DatasetReader, run: str | None) -> pl.DataFrame:
    """The host and process id of each worker process that was captured."""
    return (
        load(dataset, ("dask.process",), run=run)["dask.process"]
        .filter(
            pl.col("role") == "worker",
            pl.col("address").is_not_null(),
            pl.col("pid").is_not_null(),
        )
        .select("run", "host", "pid", worker="address")
        .unique()
        .collect()
    )


def _thread_spans(frames: Frames) -> pl.DataFrame:
    """Between which times each thread of a worker ran tasks, as the scheduler or itself saw it."""
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


def _lane_numbers(tied: pl.DataFrame, homes: pl.DataFrame) -> pl.DataFrame:
    """Threads with their lane, and with that of their worker's windows of unknown thread."""
    return (
        tied.select("run", "worker", "thread")
        .unique()
        .sort("run", "worker", "thread")
        .with_row_index("lane")
        .join(homes, on=["run", "worker"])
        .with_columns(pl.col("lane").cast(pl.Int64), spare=pl.col("home").cast(pl.Int64) + pl.len())
    )


def _lane_windows(found: pl.DataFrame, lanes: pl.DataFrame) -> pl.DataFrame:
    timed = found.with_row_index("window").drop_nulls("start")
    numbered = timed.select(
        *("home", "thread"),
        pl.col("window").cast(pl.Int64),
        start=pl.col("start").to_physical(),
        end=pl.col("end").to_physical().fill_null(FOREVER),
    )
    shape = ["lane", "start", "end", "window"]
    known = numbered.join(lanes, on=["home", "thread"])
    spare = lanes.select("home", lane="spare").unique()
    unknown = numbered.filter(pl.col("thread").is_null()).join(spare, on="home")
    return pl.concat([known.select(shape), unknown.select(shape)])
