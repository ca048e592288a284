"""I/O that Darshan traced, as slices of a trace: below the task on whose thread it was done.

Logs are taken one after the other, so that memory grows with the longest log alone.  Tasks and
workers are found as for the view ``dask.task_io``.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any

import polars as pl

from ..io.match import Correlation
from .tasks import worker_pid
from .tracks import BATCH_ROWS, Tracks, args_of, with_lanes, with_numbers

COLUMNS = (
    *("origin", "hostname", "pid", "rank", "thread", "module", "path", "op", "offset", "length"),
    *("start_time", "end_time"),
)
LOG_ROWS = 1_000_000
"""Segments of a log that are placed at a time."""
OTHERS_PLACE = 200
THREADS_PLACE = 500_000


def log_pieces(segments: pl.LazyFrame) -> Iterator[tuple[str, int, pl.DataFrame]]:
    """Yield the segments log by log: origin, number of the piece from 0, and its segments.

    A log of more than LOG_ROWS is divided into pieces.
    """
    chosen = segments.select(pl.col("origin").cast(pl.String), *COLUMNS[1:])
    parts = (
        part
        for batch in chosen.collect_batches(chunk_size=BATCH_ROWS)
        for part in batch.partition_by("origin", maintain_order=True)
    )
    rows: Counter[str] = Counter()
    pieces: Counter[str] = Counter()

    def piece_of(part: pl.DataFrame) -> tuple[str, int]:
        origin = part["origin"][0]
        rows[origin] += part.height
        return origin, (rows[origin] - part.height) // LOG_ROWS

    for (origin, _), together in itertools.groupby(parts, piece_of):
        yield origin, pieces[origin], pl.concat(together)
        pieces[origin] += 1


def io_events(
    segments: pl.LazyFrame,
    tasks: pl.DataFrame,
    tracks: Tracks,
    known: Correlation,
    programs: Mapping[str, str],
) -> Iterator[pl.DataFrame]:
    """Yield batches of events: a slice for each segment with times; the others are ``left_out``.

    tasks: from ``place_tasks``; known: the task of each operation, and the worker of each thread.
    programs: by origin of a log, the command line of its process.
    """
    lines = set(tasks.select("worker", "thread").unique().iter_rows())
    for origin, piece, log in log_pieces(segments):
        timed = log.drop_nulls("start_time").with_columns(
            start=pl.col("start_time"), end=pl.max_horizontal("start_time", "end_time")
        )
        tracks.left_out["segments without time"] += log.height - timed.height
        if timed.is_empty():
            continue
        placed = place_segments(_with_owners(timed, known, origin), tasks)
        words = programs.get(origin, "").split()[:PROGRAM_WORDS]
        program = " ".join(word.rpartition("/")[2] or word for word in words)
        yield from tracks.slices(
            with_numbers(placed, TRACK, _numbers(tracks, lines, origin, piece, program)),
            pid="number",
            name="op",
            cat=pl.lit("io"),
            args=args_of(path="path", bytes="length", offset="offset", module="module", task="key"),
        )


def _with_owners(log: pl.DataFrame, known: Correlation, origin: str) -> pl.DataFrame:
    """Add the columns worker, of the process, and key, of the task."""
    tied = known.tied.filter(pl.col("origin") == origin)
    workers = tied.group_by("rank").agg(pl.col("worker").mode().sort().first())
    lanes = tied.lazy().select("rank", "thread", "lane", "spare")
    found = known.with_tasks(log.lazy().join(lanes, on=["rank", "thread"], how="left")).collect()
    return (
        found.with_columns(key=known.tasks["key"].gather(found["task"]))
        .join(workers, on="rank", how="left")
        .drop("lane")
    )


def _numbers(
    tracks: Tracks, lines: Set[tuple[Any, ...]], origin: str, piece: int, program: str
) -> Callable[..., tuple[int, int]]:
    """Return the function that numbers process and thread of each track of a log's piece.

    lines: worker and thread of each line of tasks.
    """
    places = itertools.count(THREADS_PLACE)

    def number(
        hostname: str | None,
        pid_there: int | None,
        rank: int,
        thread: int | None,
        worker: str | None,
        lane: int,
    ) -> tuple[int, int]:
        place = next(places)
        named = f"{hostname or 'host not recorded'}, process {pid_there or 'not recorded'}"
        if worker is None:
            process = ("log", origin, hostname, pid_there, rank)
            pid = tracks.process(process, named, OTHERS_PLACE)
        else:
            pid = worker_pid(tracks, worker)
        tracks.label(pid, program if worker is None else named)
        if (worker, thread) in lines and lane == 0 and piece == 0:
            return pid, tracks.thread(pid, ("thread", thread, 0), f"thread {thread}", 0)
        name = "I/O, thread not recorded" if thread is None else f"thread {thread}, I/O"
        name += "" if lane == 0 else f" · {lane + 1}"
        key = ("io", origin, piece, rank, thread, lane)
        return pid, tracks.thread(pid, key, name, place)

    return number


PROGRAM_WORDS = 4
"""Words of a command line that name a program."""
LINE = ["hostname", "pid", "rank", "thread", "worker"]
TRACK = [*LINE, "lane"]


def place_segments(segments: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    """Add ``lane`` to segments.

    segments: has LINE, start and end.  tasks: from ``place_tasks``.

    In lane 0, segments nest with the tasks of lane 0 or are apart from them.  Segments that would
    overlap without nesting are in further lanes.
    """
    windows = (
        tasks.filter(pl.col("thread").is_not_null() & (pl.col("lane") == 0))
        .select("worker", "thread", "start", task_end="end")
        .sort("start", "task_end")
    )
    following = windows.select("worker", "thread", "start", next_start="start")
    on: dict[str, Any] = {"on": "start", "by": ["worker", "thread"], "check_sortedness": False}
    joined = (
        segments.sort("start")
        .join_asof(windows, strategy="backward", **on)
        .join_asof(following, strategy="forward", **on)
    )
    inside = (pl.col("end") <= pl.col("task_end")).fill_null(value=False)
    behind = (pl.col("start") >= pl.col("task_end")).fill_null(value=True)
    ahead = (pl.col("end") <= pl.col("next_start")).fill_null(value=True)
    placed = joined.with_columns(fits=inside | (behind & ahead))
    first = with_lanes(placed.filter("fits"), LINE, nest=True)
    over = first.filter(pl.col("lane") > 0).drop("lane")
    rest = pl.concat([over, placed.filter(~pl.col("fits"))])
    more = with_lanes(rest, LINE, nest=True).with_columns(pl.col("lane") + 1)
    every = pl.concat([first.filter(pl.col("lane") == 0), more])
    return every.drop("task_end", "next_start", "fits")
