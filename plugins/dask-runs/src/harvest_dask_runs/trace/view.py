"""The view ``dask.trace``, and the same events as a file for Perfetto or chrome://tracing.

Events are made batch by batch: in memory are the executions and transfers of one run, and the
I/O of one log.
"""

import gzip
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import polars as pl
from polars.io.plugins import register_io_source

from harvest import DatasetReader, UsageError
from harvest.toolkit.files import replacing

from ..critical_path import critical_path
from ..executions import executions
from ..frames import choose_run, load, named_run, runs_of
from ..io.match import correlate
from ..io.ties import runs_of_logs
from ..record_names import JOB, SEGMENT, WAITED
from .io import io_events
from .tasks import path_events, place_tasks, task_events, transfer_events, transfer_slices
from .tracks import EVENT, Tracks, iso_of, micros_of

SUFFIXES = (".json", ".json.gz")


def trace(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """The events of runs in Chrome's Trace Event Format, one row each."""
    wanted = named_run(dataset, run)

    def batches(
        columns: list[str] | None,
        predicate: pl.Expr | None,
        rows: int | None,
        _batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        left, tracks = rows, None
        for name in runs_of(dataset) if wanted is None else [wanted]:
            tracks = Tracks(name, tracks)
            for batch in run_events(dataset, tracks):
                frame = batch if predicate is None else batch.filter(predicate)
                frame = frame if columns is None else frame.select(columns)
                if left is not None:
                    frame = frame.head(left)
                    left -= frame.height
                yield frame
                if left == 0:
                    return

    return register_io_source(batches, schema=EVENT)


def run_events(dataset: DatasetReader, tracks: Tracks) -> Iterator[pl.DataFrame]:
    """Yield the events of the run of ``tracks`` in batches, with the columns of the view.

    Sets start and left_out of ``tracks``.
    """
    frames = load(dataset, WAITED, run=tracks.run)
    found = executions(frames).collect()
    moved = frames["dask.transfer"].collect()
    ends = pl.concat([found["end"], moved["end_time"], found["start"]])
    tasks, transfers = place_tasks(found, ends.max()), transfer_slices(moved)
    segments = segments_of(dataset, tracks.run)
    firsts: list[Any] = [frame["start"].min() for frame in (tasks, transfers)]
    if segments is not None:
        firsts.append(segments.select(pl.col("start_time").min()).collect().item())
    tracks.start = min((micros_of(t) for t in firsts if t is not None), default=0)
    untimed = moved.height - int(transfers["recorded"].sum())
    tracks.left_out["executions without time"] = found.height - tasks.height
    tracks.left_out["transfers without time"] = untimed
    yield from task_events(tasks, tracks)
    yield from transfer_events(transfers, tracks)
    yield from path_events(critical_path(found, frames), tracks)
    if segments is None:
        return
    runs = runs_of(dataset)
    known = correlate(dataset, None if len(runs) == 1 else tracks.run)
    programs: dict[str, str] = {}
    if JOB in dataset:
        jobs = dataset[JOB].select(pl.col("origin").cast(pl.String), "exe").drop_nulls()
        programs = dict(jobs.collect().iter_rows())
    yield from io_events(segments, tasks, tracks, known, programs)
    if len(runs) > 1:
        strays = _logs(dataset).filter(~pl.col("run").is_in(runs))
        tracks.left_out["logs in no run's directory"] = strays.height


def segments_of(dataset: DatasetReader, run: str) -> pl.LazyFrame | None:
    """Select a run's traced I/O: from the logs below its directory, or all if it is the only run.

    None if the dataset holds none.
    """
    if SEGMENT not in dataset:
        return None
    segments = dataset[SEGMENT].with_columns(pl.col("origin").cast(pl.String))
    if len(runs_of(dataset)) == 1:
        return segments
    mine = _logs(dataset).filter(pl.col("run") == run)["origin"]
    # unlike a join, a filter keeps the order: the same dataset gives the same trace
    return segments.filter(pl.col("origin").is_in(mine.implode()))


def _logs(dataset: DatasetReader) -> pl.DataFrame:
    origins = dataset[SEGMENT].select(pl.col("origin").cast(pl.String)).unique().collect()
    return runs_of_logs(origins, runs_of(dataset))


def write_trace(
    dataset: DatasetReader, path: str | Path, *, run: str | None = None
) -> Counter[str]:
    """Write one run's trace as a JSON file, and return the number of events by category.

    path: ends with .json or .json.gz; it is replaced when all is written.
    run: the run's directory, or its last part; needed where the dataset holds several.

    Raises UsageError for another ending, or when a run must be chosen.
    """
    path = Path(path)
    if not path.name.endswith(SUFFIXES):
        remedy = "end the name with " + " or ".join(SUFFIXES)
        raise UsageError("a trace is JSON", where=str(path), remedy=remedy)
    if not path.absolute().parent.is_dir():
        raise UsageError("no such directory", where=str(path.parent), remedy="make it first")
    tracks = Tracks(choose_run(dataset, run, "--run"))
    counts: Counter[str] = Counter()
    with replacing(path) as temporary, temporary.open("wb") as raw:
        # no name and no time in the file: the same dataset gives the same bytes
        file = gzip.GzipFile("", "wb", 6, raw, mtime=0) if path.suffix == ".gz" else raw
        file.write(b'{"displayTimeUnit":"ms","traceEvents":[\n')
        separator = b""
        for batch in run_events(dataset, tracks):
            counts.update(_category_counts(batch))
            lines = _lines(batch)
            if lines:
                file.write(separator + ",\n".join(lines).encode())
                separator = b",\n"
        left_out = sorted(tracks.left_out.items())
        header = {
            "run": tracks.run,
            "start": iso_of(tracks.start),
            "start_epoch_us": tracks.start,
            "events": dict(sorted(counts.items())),
            "left_out": {what: count for what, count in left_out if count},
        }
        file.write(b'\n],"otherData":' + orjson.dumps(header) + b"}\n")
        if file is not raw:
            file.close()
    return counts


def _category_counts(batch: pl.DataFrame) -> dict[str, int]:
    """Count slices by category, and flows and names of tracks by kind."""
    kind = (
        pl.when(pl.col("ph") == "X").then("cat")
        .when(pl.col("ph") == "s").then(pl.lit("flow"))
        .when(pl.col("ph") == "M").then(pl.lit("metadata"))
    )  # fmt: skip
    return dict(batch.select(kind=kind).drop_nulls().group_by("kind").len().iter_rows())


def _lines(batch: pl.DataFrame) -> list[str]:
    """Encode each event as a JSON object of the fields that its kind has."""
    lines: list[str] = []
    for (*_, has_args), events in batch.group_by(
        "ph",
        pl.col("tid").is_not_null().alias("t"),
        pl.col("args").is_not_null().alias("a"),
        maintain_order=True,
    ):
        names = [name for name in EVENT if name not in ("run", "args") and events[name].count()]
        text = pl.struct(names).struct.json_encode()
        if has_args:
            text = pl.concat_str(text.str.head(-1), pl.lit(',"args":'), pl.col("args"), pl.lit("}"))
        lines += events.select(text=text)["text"].to_list()
    return lines
