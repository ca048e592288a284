"""The view ``dask.tasks``: all that is recorded of each task, one row per run and key.

A transfer of several keys is an event of each key, with that key's share of the bytes.  Events are
ordered by time; at equal times graphs come first, then scheduler, worker and transfer, each in the
order of the input.
"""

from typing import Final

import polars as pl
import polars.selectors as cs

from harvest import DatasetReader, UsageError
from harvest.model.frames import seconds
from harvest_dask.records.key_prefixes import prefix_of
from harvest_toolkit.choices import choices

from ..executions import executions
from ..frames import Frames, load, named_run, sentence
from ..record_names import DASK_TYPES
from .declared.tasks import TASK_COLUMNS
from .task_io import TOTALS, task_io_totals
from .workers import whole_runs


def tasks(
    dataset: DatasetReader, *, run: str | None = None, key: str | None = None
) -> pl.LazyFrame:
    """Compute one row per task and run, ordered by first event.

    Raises UsageError if the dataset holds no such run or task.
    """
    wanted = named_run(dataset, run)
    frames = load(dataset, DASK_TYPES, run=wanted)
    frame = task_frame(frames, task_io_totals(dataset, run=wanted))
    if key is None:
        return frame
    keys = task_events(frames).select("key").unique().collect()["key"]
    if key not in keys:
        raise UsageError(
            f"no record holds a task {key!r}",
            remedy=choices("choose one of", keys.sort().to_list()),
        )
    return frame.filter(pl.col("key") == key)


def task_frame(frames: Frames, io: pl.LazyFrame | None = None) -> pl.LazyFrame:
    """Compute the view from frames with the column ``run``; io: from ``task_io_totals``."""
    one = ["run", "key"]
    named = frames["dask.worker_transition"].drop_nulls("worker")
    # runs whose transfers are recorded with the tasks whose data they moved
    moved = frames["dask.transfer"].drop_nulls("keys").select("run", moved=True).unique()
    return (
        _from_events(task_events(frames))
        .join(_executions(executions(frames)), on=one, how="left")
        .join(whole_runs(frames).with_columns(whole=True), on="run", how="left")
        .join(moved, on="run", how="left")
        .with_columns(
            pl.coalesce("executions", pl.when("whole").then(0)).alias("executions"),
            pl.when("moved").then(pl.col("transfers", "bytes_sent", "bytes_received")),
            prefix=pl.coalesce("prefix", prefix_of(pl.col("key"))),
        )
        .join(_from_graphs(frames["dask.graph_task"]), on=one, how="left")
        .join(_states(frames["dask.task_transition"], "scheduler_states"), on=one, how="left")
        .join(_states(named, "worker_states", "worker"), on=one, how="left")
        .join(pl.LazyFrame(schema=TOTALS) if io is None else io, on=one, how="left")
        .sort("run", "first_time", "key", nulls_last=True)
        .select(column.name for column in TASK_COLUMNS)
    )


def _from_events(events: pl.LazyFrame) -> pl.LazyFrame:
    scheduler = pl.col("source") == "scheduler"
    carried = pl.col("source") == "transfer"

    def carried_bytes(direction: str) -> pl.Expr:
        sizes = pl.col("size_bytes").filter(carried & (pl.col("direction") == direction))
        return pl.when(sizes.is_not_null().all()).then(sizes.sum())

    def in_order(column: str) -> pl.Expr:
        return pl.col(column).drop_nulls().unique(maintain_order=True)

    # rows within a group keep the order of the frame, which is that of time
    return events.group_by("run", "key").agg(
        group=pl.col("group").drop_nulls().first(),
        prefix=pl.col("prefix").drop_nulls().first(),
        workers=in_order("worker"),
        threads=in_order("thread"),
        first_time=pl.col("time").min(),
        last_time=pl.col("time").max(),
        last_state=pl.col("finish_state").filter(scheduler).last(),
        bytes_sent=carried_bytes("outgoing"),
        bytes_received=carried_bytes("incoming"),
        transfers=carried.sum().cast(pl.Int64),
        events=pl.struct(EVENT),
    )


def _executions(found: pl.LazyFrame) -> pl.LazyFrame:
    stored = pl.col("outcome").eq_missing(pl.lit("memory"))
    return (
        found.sort(stored, "recorded", "worker", nulls_last=True)
        .group_by("run", "key", maintain_order=True)
        .agg(
            executions=pl.len().cast(pl.Int64),
            executed_on=pl.col("worker").last(),
            duration_s=pl.col("seconds").last(),
            **{name: pl.col(name).last() for name in ("began", "ended", "size_bytes")},
        )
    )


def _from_graphs(graphs: pl.LazyFrame) -> pl.LazyFrame:
    one = ["run", "key"]
    edges = graphs.select(*one, dependency="dependencies").explode("dependency")
    edges = edges.drop_nulls("dependency").unique()
    needed = edges.group_by(one).agg(dependencies=pl.col("dependency").sort())
    needing = edges.group_by("run", key="dependency").agg(dependents=pl.len().cast(pl.Int64))
    return (
        graphs.sort("requested", "time", "position", descending=[True, False, False])
        .group_by(one)
        .agg(client=pl.col("client").first(), requested=pl.col("requested").any())
        .join(needed, on=one, how="left")
        .join(needing, on=one, how="left")
        .with_columns(
            pl.col("dependencies").fill_null(pl.lit([], dtype=pl.List(pl.String))),
            pl.col("dependents").fill_null(0),
        )
    )


def _states(transitions: pl.LazyFrame, name: str, *by: str) -> pl.LazyFrame:
    """List structs (by whom, state, seconds) per task, by first entry; name: of the lists."""
    per = ["run", "key", *by]
    return (
        states_entered(transitions, per)
        .drop_nulls("spent")
        .group_by(*per, "state")
        .agg(
            seconds=seconds(pl.col("spent").sum()),
            entered=pl.col("time").first(),
            place=pl.col("position").first(),
        )
        .sort("entered", "place", "state", maintain_order=True)
        .group_by("run", "key")
        .agg(pl.struct(*by, "state", "seconds").alias(name))
    )


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
    graphs = frames["dask.graph_task"].select(
        *("run", "key", "time", "client", "requested", "position", "origin"),
        rank=0,
        source=pl.lit("graph"),
        what=sentence("sent by ", pl.col("client").fill_null("a client")),
    )
    each = [
        graphs,
        _transitions(frames["dask.task_transition"], 1, "scheduler"),
        _transitions(by_workers, 2, "worker"),
        _transfer_events(frames["dask.transfer"]),
    ]
    held = [events.select(cs.by_name(*_SHAPE, require_all=False)) for events in each]
    return pl.concat(held, how="diagonal").sort(
        "time", "rank", "position", nulls_last=True, maintain_order=True
    )


def _transitions(frame: pl.LazyFrame, rank: int, source: str) -> pl.LazyFrame:
    return frame.with_columns(
        rank=rank,
        source=pl.lit(source),
        what=sentence(pl.col("start_state"), " -> ", pl.col("finish_state")),
    )


def _transfer_events(frame: pl.LazyFrame) -> pl.LazyFrame:
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
