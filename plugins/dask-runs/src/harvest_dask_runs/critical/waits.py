"""What a task waited for before it was executed, moment by moment."""

from __future__ import annotations

from typing import Final

import polars as pl

from ..frames import Frames
from ..parts.events import states_entered
from .links import QUEUED, READY

COMPUTING: Final = "computing"
MOVING: Final = "moving"
SPILLING: Final = "spilling"
WORKER: Final = "waiting for a worker"
DEPENDENCIES: Final = "waiting for dependencies"
UNRECORDED: Final = "nothing recorded"
PARTS: Final = (COMPUTING, MOVING, SPILLING, WORKER, DEPENDENCIES, UNRECORDED)
"""What time is divided into."""

_RANKED: Final = (MOVING, SPILLING, DEPENDENCIES, WORKER, DEPENDENCIES, UNRECORDED)
"""Of what is recorded of a moment, the first counts; a worker knows better than the scheduler."""
_AT_WORKER, _IN_REACH, _BY_SCHEDULER = 2, 3, 4
_STATES: Final = {
    **dict.fromkeys((*QUEUED, "processing"), _IN_REACH),
    "waiting": _BY_SCHEDULER,
}
_WORKER_STATES: Final = {**dict.fromkeys(READY, _IN_REACH), "waiting": _AT_WORKER}
"""Ranks by state.  A worker has a task waiting until the data that it needs is there."""
_GREW: Final = ("spilled_bytes", "spills", "spill_bytes", "unspills", "unspill_bytes")


def with_waits(gaps: pl.DataFrame, frames: Frames, needs: pl.LazyFrame) -> pl.DataFrame:
    """Each gap cut into parts: row, part, start, end; parts of a gap are apart and fill it.

    gaps: row, run, key, worker and, not empty, start and end.
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
    """row, since, until, rank: how long each task was in some states."""
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
    """The same of transfers that brought to its worker what a task needs."""
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
    """The same of intervals between two samples of its worker in which it wrote or read results."""
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


def known_parts(frames: Frames) -> pl.DataFrame:
    """run, and for each part but the last whether the run has a record of it."""
    scheduler, worker, moves, samples = (
        frames[name].select("run").unique().collect()["run"].implode()
        for name in (
            *("dask.task_transition", "dask.worker_transition"),
            *("dask.transfer", "dask.worker_sample"),
        )
    )
    run = pl.col("run")
    return (
        pl.concat([frame.select("run") for frame in frames.values()])
        .unique()
        .collect()
        .select(
            "run",
            pl.lit(value=True).alias(COMPUTING),
            run.is_in(moves).alias(MOVING),
            run.is_in(samples).alias(SPILLING),
            (run.is_in(scheduler) | run.is_in(worker)).alias(WORKER),
            (run.is_in(scheduler) | run.is_in(worker)).alias(DEPENDENCIES),
        )
    )
