"""The critical path: the execution that ended last, the one that it followed, and so on back.

It covers the time from the start of the first execution to the end of the last without gap or
overlap: at each moment one of its tasks is executed, or the next one waits.
"""

from typing import Final

import polars as pl

from harvest import DatasetReader
from harvest.model.frames import seconds, types_of
from harvest_toolkit.frames import deferred

from .critical_links import QUEUED, READY, dependencies, linked
from .executions import executions
from .frames import Frames, load
from .record_names import WAITED
from .views.declared.tasks import PATH_COLUMNS
from .views.tasks import states_entered

COLUMN_OF_PART: Final = {
    "computing": "path_computing_s",
    "moving": "path_moving_s",
    "spilling": "path_spilling_s",
    "waiting for a worker": "path_worker_s",
    "waiting for dependencies": "path_dependencies_s",
    "nothing recorded": "path_unrecorded_s",
}
"""The parts into which time is divided, each with its column in ``dask.indicators``."""
PARTS: Final = tuple(COLUMN_OF_PART)
COMPUTING, MOVING, SPILLING, WORKER, DEPENDENCIES, UNRECORDED = PARTS

_RANKED: Final = (MOVING, SPILLING, DEPENDENCIES, WORKER, DEPENDENCIES, UNRECORDED)
"""Parts of time; of several recorded for a moment the first counts, workers' before scheduler's."""
_AT_WORKER, _IN_REACH, _BY_SCHEDULER = 2, 3, 4
_STATES: Final = {**dict.fromkeys((*QUEUED, "processing"), _IN_REACH), "waiting": _BY_SCHEDULER}
_WORKER_STATES: Final = {**dict.fromkeys(READY, _IN_REACH), "waiting": _AT_WORKER}
"""Ranks by state.  At a worker, a task is waiting until the data that it needs is there."""
_GREW: Final = ("spilled_bytes", "spills", "spill_bytes", "unspills", "unspill_bytes")


def with_waits(gaps: pl.DataFrame, frames: Frames, needs: pl.LazyFrame) -> pl.DataFrame:
    """Divide each gap into parts without gap or overlap: row, part, start, end.

    gaps: row, run, key, worker, start and end (start < end).
    needs: run, key, dependency.
    """
    span, at_workers = gaps.lazy(), frames["dask.worker_transition"]
    covers = pl.concat(
        [
            _states(span, frames["dask.task_transition"], ["run", "key"], _STATES),
            _states(span, at_workers, ["run", "worker", "key"], _WORKER_STATES),
            _moves(span, frames["dask.transfer"], needs),
            _spills(span, frames["dask.worker_sample"]),
        ]
    )
    inside = (
        covers.join(span.select("row", "start", "end"), on="row")
        .with_columns(
            since=pl.max_horizontal("since", "start"), until=pl.min_horizontal("until", "end")
        )
        .filter(pl.col("since") < pl.col("until"))
        .select("row", "since", "until", "rank")
        .collect()
    )
    times = [gaps.select("row", at=side) for side in ("start", "end")]
    times += [inside.select("row", at=side) for side in ("since", "until")]
    pieces = (
        pl.concat(times)
        .unique()
        .sort("row", "at")
        .with_columns(to=pl.col("at").shift(-1).over("row"))
        .drop_nulls("to")
    )
    first = (
        pieces.join(inside, on="row")
        .filter(pl.col("since") <= pl.col("at"), pl.col("until") >= pl.col("to"))
        .group_by("row", "at")
        .agg(pl.col("rank").min())
    )
    return (
        pieces.join(first, on=["row", "at"], how="left")
        .with_columns(pl.col("rank").fill_null(_RANKED.index(UNRECORDED)))
        .sort("row", "at")
        .with_columns(
            part=pl.col("rank").replace_strict(range(len(_RANKED)), _RANKED, return_dtype=pl.String)
        )
        .group_by("row", "part", pl.struct("row", "part").rle_id().alias("one"))
        .agg(start=pl.col("at").min(), end=pl.col("to").max())
        .drop("one")
    )


def _states(
    span: pl.LazyFrame, transitions: pl.LazyFrame, by: list[str], ranks: dict[str, int]
) -> pl.LazyFrame:
    """Find from when until when each task was in some states: row, since, until, rank."""
    mine = transitions.join(span.select(by).unique(), on=by, how="semi")
    stays = states_entered(mine, by).filter(pl.col("state").is_in(list(ranks)))
    until = pl.col("time") + pl.duration(microseconds="spent")
    return stays.join(span, on=by).select(
        "row",
        since="time",
        until=pl.coalesce(until, "end"),
        rank=pl.col("state").replace_strict(ranks, return_dtype=pl.Int64),
    )


def _moves(span: pl.LazyFrame, transfers: pl.LazyFrame, needs: pl.LazyFrame) -> pl.LazyFrame:
    """Find transfers of a task's dependencies to its worker: row, since, until, rank."""
    keys = pl.col("keys").list.eval(pl.element().struct.field("key"))
    moved = transfers.select(
        "run", worker="requestor", since="start_time", until="end_time", dependency=keys
    ).explode("dependency")
    return (
        span.join(needs, on=["run", "key"])
        .join(moved, on=["run", "worker", "dependency"])
        .select("row", "since", "until", rank=pl.lit(_RANKED.index(MOVING), pl.Int64))
    )


def _spills(span: pl.LazyFrame, samples: pl.LazyFrame) -> pl.LazyFrame:
    """Find intervals between samples in which the worker spilled: row, since, until, rank."""
    one = ["run", "origin", "address"]
    grew = pl.any_horizontal(pl.col(name).diff().over(one) != 0 for name in _GREW)
    spilled = (
        samples.filter(pl.col("role") == "worker")
        .sort("time", "position")
        .select(
            "run", grew=grew, worker="address", since=pl.col("time").shift().over(one), until="time"
        )
        .filter("grew")
    )
    return span.join(spilled, on=["run", "worker"]).select(
        "row", "since", "until", rank=pl.lit(_RANKED.index(SPILLING), pl.Int64)
    )


STEPS: Final = types_of(PATH_COLUMNS)
"""Columns of the path; ``step`` numbers its tasks, whose waits are in rows before their own."""

_MOVES: Final = ("dask.task_transition", "dask.worker_transition")
_RECORDS: Final = {
    MOVING: ("dask.transfer",),
    SPILLING: ("dask.worker_sample",),
    WORKER: _MOVES,
    DEPENDENCIES: _MOVES,
}
"""Record types that a run needs for a part; executions and the rest are always known."""


def critical_path_view(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """Compute the view ``dask.critical_path``: the path of each run, in order of time."""
    frames = load(dataset, WAITED, run=run)
    return deferred(lambda: critical_path(executions(frames).collect(), frames), STEPS)


def critical_path(found: pl.DataFrame, frames: Frames) -> pl.DataFrame:
    """Compute the critical path of each run, in order of time, from its executions.

    frames: the records of executions, graphs, transfers and samples.
    """
    needs = dependencies(frames)
    ended = linked(found, frames, needs)
    steps = _walked(ended)
    if steps.is_empty():
        return pl.DataFrame(schema=STEPS)
    first = pl.col("start").min().over("run")
    begins = ended.select("run", first=first).unique()
    # clocks differ: a task may end after the next has begun, and then ends there
    until = pl.min_horizontal("end", pl.col("start").shift(-1).over("run"))
    held = (
        steps.join(begins, on="run")
        .with_columns(end=pl.coalesce(until, "end"), after=pl.col("key").shift(1).over("run"))
        .with_columns(since=pl.coalesce(pl.col("end").shift(1).over("run"), "first"))
    )
    before = held.select("row", "run", "key", "worker", start="since", end="start")
    waits = with_waits(before.filter(pl.col("start") < pl.col("end")), frames, needs)
    ran = held.select("row", "start", "end", part=pl.lit(COMPUTING))
    rows = pl.concat([waits, ran], how="diagonal")
    about = held.drop("start", "end")
    spent = (pl.col("end") - pl.col("start")).dt.total_microseconds()
    return (
        rows.join(about, on="row")
        .sort("run", "step", "start", "end")
        .with_columns(seconds=seconds(spent))
        .select(pl.col(name).cast(kind) for name, kind in STEPS.items())
    )


def _walked(ended: pl.DataFrame) -> pl.DataFrame:
    """Select the executions on the paths of all runs, with ``step``, from 1."""
    before = ended["before"].to_list()
    last = ended.group_by("run").agg(pl.col("row").sort_by("end", "row").last())["row"]
    rows: list[int] = []
    for row in last.to_list():
        place: int | None = row
        while place is not None:
            rows.append(place)
            place = before[place]
    one = pl.DataFrame({"row": rows}, schema={"row": pl.Int64}).sort("row")
    return (
        ended.join(one, on="row", how="semi")
        .sort("row")
        .with_columns(step=pl.int_range(1, pl.len() + 1).over("run"))
    )


def division(path: pl.DataFrame, frames: Frames) -> pl.DataFrame:
    """Sum up the parts of each run's time: run and COLUMN_OF_PART, which add up to the whole.

    A part of which the run has no record is null; its time is in UNRECORDED.
    """
    micros = (pl.col("end") - pl.col("start")).dt.total_microseconds()
    sums = path.group_by("run").agg(
        seconds(micros.filter(pl.col("part") == part).sum()).alias(name)
        for part, name in COLUMN_OF_PART.items()
    )
    for part, names in _RECORDS.items():
        runs = pl.concat(frames[name].select("run") for name in names).unique().collect()["run"]
        column = COLUMN_OF_PART[part]
        sums = sums.with_columns(pl.when(pl.col("run").is_in(runs.implode())).then(column))
    return sums
