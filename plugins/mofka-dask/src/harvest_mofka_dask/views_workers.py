"""The view ``dask.workers``: what each worker did, and whether it told anything of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from .views_frames import DASK_TYPES, Frames, host_of, load, microseconds, moved_bytes

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["worker_frame", "workers"]

ONE = ["run", "worker"]


def workers(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """One row per worker and run, for every worker that any record names.

    run: keeps one run (its directory, or the directory's name).

    Columns:

    - run, worker, host (of the address; null where the worker goes by a name);
    - registered, registered_time, removed_time: from the scheduler's worker events, from its log
      where these say nothing;
    - executed, busy_s, occupied_s, threads: executions that the scheduler credits to it, the sum
      of their durations, the time in which at least one ran, and the threads that ran them;
    - transitions, transfers: rows it told itself;
    - bytes_received, bytes_sent: as it told them;
    - reported, first_report, last_report: whether and when it told of transitions or transfers.
      A registered worker that reported nothing was not necessarily idle.
    """
    return worker_frame(load(dataset, DASK_TYPES, run=run))


def worker_frame(frames: Frames) -> pl.LazyFrame:
    """The view, from frames that carry the column ``run``."""
    return (
        _named(frames)
        .join(_membership(frames), on=ONE, how="left")
        .join(_executions(frames["dask.task_transition"]), on=ONE, how="left")
        .join(_told_transitions(frames["dask.worker_transition"]), on=ONE, how="left")
        .join(_told_transfers(frames["dask.transfer"]), on=ONE, how="left")
        .with_columns(
            pl.col("registered").fill_null(value=False),
            pl.col(
                "executed", "transitions", "transfers", "bytes_received", "bytes_sent"
            ).fill_null(0),
            pl.col("busy_s", "occupied_s").fill_null(0.0),
            pl.col("threads").fill_null(pl.lit([], dtype=pl.List(pl.Int64))),
        )
        .select(
            *("run", "worker"),
            host_of(pl.col("worker")).alias("host"),
            *("registered", "registered_time", "removed_time"),
            *("executed", "busy_s", "occupied_s", "threads", "transitions", "transfers"),
            *("bytes_received", "bytes_sent"),
            ((pl.col("transitions") > 0) | (pl.col("transfers") > 0)).alias("reported"),
            pl.min_horizontal("transitions_first", "transfers_first").alias("first_report"),
            pl.max_horizontal("transitions_last", "transfers_last").alias("last_report"),
        )
        .sort("run", "worker")
    )


def _named(frames: Frames) -> pl.LazyFrame:
    transfers = frames["dask.transfer"]
    pieces = [
        _log_membership(frames["dask.log_event"]),
        frames["dask.worker"],
        frames["dask.task_transition"],
        frames["dask.worker_transition"],
        transfers,
        transfers.select("run", worker="requestor"),
        transfers.select("run", worker="fulfiller"),
    ]
    return (
        pl.concat([piece.select(ONE) for piece in pieces])
        .filter(pl.col("worker").is_not_null())
        .unique()
    )


def _log_membership(log: pl.LazyFrame) -> pl.LazyFrame:
    return log.filter(
        pl.col("kind").is_in(["registration", "removal"]) & pl.col("worker").is_not_null()
    )


def _membership(frames: Frames) -> pl.LazyFrame:
    """Who came and went when: (run, worker, registered, registered_time, removed_time)."""
    # couplers that leave out the action still give a removal its stimulus, an addition none
    acted = pl.coalesce(
        pl.col("action"),
        pl.when(pl.col("stimulus_id").is_null()).then(pl.lit("add")).otherwise(pl.lit("remove")),
    )
    events = frames["dask.worker"].select(*ONE, "time", acted=acted, told=pl.lit("events"))
    kinds = {"registration": "add", "removal": "remove"}
    log = _log_membership(frames["dask.log_event"]).select(
        *ONE, "time", acted=pl.col("kind").replace_strict(kinds, default=None), told=pl.lit("log")
    )

    def when(acted: str, told: str) -> pl.Expr:
        return pl.col("time").filter((pl.col("acted") == acted) & (pl.col("told") == told))

    return (
        pl.concat([events, log])
        .filter(pl.col("worker").is_not_null())
        .group_by(ONE)
        .agg(
            registered=(pl.col("acted") == "add").any(),
            registered_time=pl.coalesce(when("add", "events").min(), when("add", "log").min()),
            removed_time=pl.coalesce(when("remove", "events").max(), when("remove", "log").max()),
        )
    )


def _executions(transitions: pl.LazyFrame) -> pl.LazyFrame:
    done = transitions.filter(
        (pl.col("start_state") == "processing")
        & (pl.col("finish_state") == "memory")
        & pl.col("worker").is_not_null()
    )
    measured = (pl.col("ends") - pl.col("begins")).dt.total_microseconds()
    # of intervals by their begin, what each adds to the union of those before it
    covered_until = pl.col("ends").cum_max().shift(1).over(ONE)
    fresh = pl.col("ends") - pl.max_horizontal("begins", covered_until)
    return (
        done.sort("begins", "position", nulls_last=True)
        .with_columns(
            seconds=pl.coalesce("duration_s", microseconds(measured)),
            fresh=fresh.dt.total_microseconds().clip(lower_bound=0),
        )
        .group_by(ONE)
        .agg(
            executed=pl.len().cast(pl.Int64),
            busy_s=pl.col("seconds").sum(),
            occupied_s=microseconds(pl.col("fresh").sum()),
            threads=pl.col("thread").drop_nulls().unique(maintain_order=True),
        )
    )


def _told_transitions(transitions: pl.LazyFrame) -> pl.LazyFrame:
    return transitions.group_by(ONE).agg(
        transitions=pl.len().cast(pl.Int64),
        transitions_first=pl.col("time").min(),
        transitions_last=pl.col("time").max(),
    )


def _told_transfers(transfers: pl.LazyFrame) -> pl.LazyFrame:
    told = pl.coalesce("time", "end_time")

    def total(direction: str) -> pl.Expr:
        return pl.col("bytes").filter(pl.col("direction") == direction).sum()

    return (
        transfers.with_columns(bytes=moved_bytes(), told=told)
        .group_by(ONE)
        .agg(
            transfers=pl.len().cast(pl.Int64),
            transfers_first=pl.col("told").min(),
            transfers_last=pl.col("told").max(),
            bytes_received=total("incoming"),
            bytes_sent=total("outgoing"),
        )
    )
