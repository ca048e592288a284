"""All records of tasks as one frame: a row per task and event.

A transfer of several keys has a row for each key, with that key's share of the bytes.  Rows are
ordered by time; at equal times graphs come first, then scheduler, worker and transfer, each in the
order of the input.
"""

from __future__ import annotations

from typing import Final

import polars as pl
import polars.selectors as cs

from ..frames import Frames, sentence

EVENT: Final = (
    *("time", "source", "what", "worker", "thread", "start_state", "finish_state", "stimulus_id"),
    *("begins", "ends", "duration_s", "size_bytes", "total_bytes", "direction", "requestor"),
    *("fulfiller", "copies", "client", "requested", "position", "origin"),
)
"""Fields of an event.  For a transfer, begins and ends are its start and end, and size_bytes is
the key's share of total_bytes."""

_SHAPE: Final = ("run", "key", "rank", "prefix", "group", *EVENT)


def task_events(frames: Frames) -> pl.LazyFrame:
    """Combine the events of all tasks: run, key, rank, prefix, group and the columns of EVENT."""
    # the view has no stimulus of workers
    by_workers = frames["dask.worker_transition"].drop("stimulus_id")
    each = [
        _graph(frames["dask.graph_task"]),
        _transitions(frames["dask.task_transition"], 1, "scheduler"),
        _transitions(by_workers, 2, "worker"),
        _transfer(frames["dask.transfer"]),
    ]
    held = [events.select(cs.by_name(*_SHAPE, require_all=False)) for events in each]
    return pl.concat(held, how="diagonal").sort(
        "time", "rank", "position", nulls_last=True, maintain_order=True
    )


def _graph(frame: pl.LazyFrame) -> pl.LazyFrame:
    return frame.select(
        *("run", "key", "time", "client", "requested", "position", "origin"),
        rank=0,
        source=pl.lit("graph"),
        what=sentence("sent by ", pl.col("client").fill_null("a client")),
    )


def _transitions(frame: pl.LazyFrame, rank: int, source: str) -> pl.LazyFrame:
    return frame.with_columns(
        rank=rank,
        source=pl.lit(source),
        what=sentence(pl.col("start_state"), " -> ", pl.col("finish_state")),
    )


def _transfer(frame: pl.LazyFrame) -> pl.LazyFrame:
    incoming = pl.col("direction") == "incoming"
    return (
        frame.filter(pl.col("keys").list.len() > 0)
        .explode("keys")
        .with_columns(
            key=pl.col("keys").struct.field("key"),
            size_bytes=pl.col("keys").struct.field("size_bytes"),
        )
        .drop_nulls("key")
        .with_columns(
            rank=3,
            source=pl.lit("transfer"),
            time=pl.coalesce("start_time", "time"),
            begins=pl.col("start_time"),
            ends=pl.col("end_time"),
            what=pl.when(incoming)
            .then(sentence("incoming from ", pl.col("fulfiller").fill_null("an unnamed worker")))
            .otherwise(sentence("outgoing to ", pl.col("requestor").fill_null("a client"))),
        )
    )


def states_entered(transitions: pl.LazyFrame, per: list[str]) -> pl.LazyFrame:
    """List the states entered, with ``spent``: microseconds until the next transition, or null.

    per: columns that name the task, within which the next transition counts.
    """
    left = pl.col("time").shift(-1).over(per)
    return (
        transitions.select(*per, "time", "position", state="finish_state")
        .sort("time", "position", maintain_order=True)
        .with_columns(spent=(left - pl.col("time")).dt.total_microseconds())
    )
