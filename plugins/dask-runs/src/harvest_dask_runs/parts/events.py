"""All that is recorded of tasks, as one frame: a row per task and event.

A transfer that carries several keys gives a row for each, with that key's share of the bytes.
Rows are ordered by time; at equal times graphs come first, then scheduler, worker, transfer, and
within these the order of the input.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from ..frames import Frames, sentence

_TIME: Final = pl.Datetime("us", "UTC")

EVENT: Final[dict[str, pl.DataType]] = {
    "time": _TIME,
    "source": pl.String(),
    "what": pl.String(),
    "worker": pl.String(),
    "thread": pl.Int64(),
    "start_state": pl.String(),
    "finish_state": pl.String(),
    "stimulus_id": pl.String(),
    "begins": _TIME,
    "ends": _TIME,
    "duration_s": pl.Float64(),
    "size_bytes": pl.Int64(),
    "total_bytes": pl.Int64(),
    "direction": pl.String(),
    "requestor": pl.String(),
    "fulfiller": pl.String(),
    "copies": pl.Int64(),
    "client": pl.String(),
    "requested": pl.Boolean(),
    "position": pl.Int64(),
    "origin": pl.String(),
}
"""Fields of an event.  Of a transfer, begins and ends are its start and end, and size_bytes is
the key's share of total_bytes."""

_AROUND: Final[dict[str, pl.DataType]] = {
    "run": pl.String(),
    "key": pl.String(),
    "rank": pl.Int8(),
    "prefix": pl.String(),
    "group": pl.String(),
}
_SHAPE: Final = {**_AROUND, **EVENT}


def task_events(frames: Frames) -> pl.LazyFrame:
    """Every event of every task, with the columns run, key, rank, prefix, group and EVENT's."""
    return pl.concat(
        [
            _graph(frames["dask.graph_task"]),
            _scheduler(frames["dask.task_transition"]),
            _worker(frames["dask.worker_transition"]),
            _transfer(frames["dask.transfer"]),
        ]
    ).sort("time", "rank", "position", nulls_last=True, maintain_order=True)


def _shape(frame: pl.LazyFrame, **columns: pl.Expr) -> pl.LazyFrame:
    return frame.select(
        columns.get(name, pl.lit(None)).cast(kind).alias(name) for name, kind in _SHAPE.items()
    )


def _columns(*names: str) -> dict[str, pl.Expr]:
    return {name: pl.col(name) for name in names}


def _transition() -> pl.Expr:
    return sentence(pl.col("start_state"), " -> ", pl.col("finish_state"))


def _graph(frame: pl.LazyFrame) -> pl.LazyFrame:
    return _shape(
        frame,
        rank=pl.lit(0),
        source=pl.lit("graph"),
        what=sentence("sent by ", pl.col("client").fill_null("a client")),
        **_columns("run", "key", "time", "client", "requested", "position", "origin"),
    )


def _scheduler(frame: pl.LazyFrame) -> pl.LazyFrame:
    return _shape(
        frame,
        rank=pl.lit(1),
        source=pl.lit("scheduler"),
        what=_transition(),
        **_columns("run", "key", "time", "prefix", "group", "worker", "thread", "start_state"),
        **_columns("finish_state", "stimulus_id", "begins", "ends", "duration_s", "size_bytes"),
        **_columns("position", "origin"),
    )


def _worker(frame: pl.LazyFrame) -> pl.LazyFrame:
    return _shape(
        frame,
        rank=pl.lit(2),
        source=pl.lit("worker"),
        what=_transition(),
        **_columns("run", "key", "time", "worker", "start_state", "finish_state"),
        **_columns("position", "origin"),
    )


def _transfer(frame: pl.LazyFrame) -> pl.LazyFrame:
    incoming = pl.col("direction") == "incoming"
    return _shape(
        frame.filter(pl.col("keys").list.len() > 0)
        .explode("keys")
        .with_columns(
            key=pl.col("keys").struct.field("key"),
            size_bytes=pl.col("keys").struct.field("size_bytes"),
        )
        .drop_nulls("key"),
        rank=pl.lit(3),
        source=pl.lit("transfer"),
        time=pl.coalesce("start_time", "time"),
        begins=pl.col("start_time"),
        ends=pl.col("end_time"),
        what=pl.when(incoming)
        .then(sentence("incoming from ", pl.col("fulfiller").fill_null("an unnamed worker")))
        .otherwise(sentence("outgoing to ", pl.col("requestor").fill_null("a client"))),
        **_columns("run", "key", "worker", "duration_s", "size_bytes", "total_bytes", "direction"),
        **_columns("requestor", "fulfiller", "copies", "position", "origin"),
    )


def states_entered(transitions: pl.LazyFrame, per: list[str]) -> pl.LazyFrame:
    """Each state that was entered, with ``spent``: microseconds until it was left, null if never.

    per: columns within which the next transition leaves a state.
    """
    left = pl.col("time").shift(-1).over(per)
    return (
        transitions.select(*per, "time", "position", state="finish_state")
        .sort("time", "position", maintain_order=True)
        .with_columns(spent=(left - pl.col("time")).dt.total_microseconds())
    )
