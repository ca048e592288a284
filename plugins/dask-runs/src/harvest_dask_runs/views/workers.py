"""The view ``dask.workers``: what each worker did, and whether it reported anything itself."""

import polars as pl

from harvest import DatasetReader
from harvest.model.frames import seconds
from harvest.toolkit.frames import TEXT_MAP
from harvest_toolkit.frames import known_sum, sum_or_none

from ..executions import executions
from ..frames import Frames, host_of, load, moved_bytes
from ..record_names import DASK_TYPES

ONE = ["run", "worker"]
REPORTS = ("transitions", "transfers", "process")
TOOK_PART = pl.col("registered") | (pl.col("executed") > 0).fill_null(value=False)


def workers(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """Compute one row per worker and run, for each worker in any record."""
    return worker_frame(load(dataset, DASK_TYPES, run=run))


def worker_frame(frames: Frames, found: pl.LazyFrame | None = None) -> pl.LazyFrame:
    """Compute the view from frames with the column ``run``; found: their executions, if known.

    Numbers are null for a worker of which nothing is recorded; 0 means that there were none.
    """
    ran = executions(frames) if found is None else found
    transferred = pl.col("transfers").is_not_null()
    silent = pl.col("transitions").is_null() & ~transferred & pl.col("lost").is_null()
    # a worker that recorded anything recorded all of these kinds
    recorded = ~silent & pl.col("by_workers")
    idle = recorded & pl.col("executed").is_null()
    measures = pl.col("transfers", "bytes_received", "bytes_sent")
    movements = pl.when(transferred).then(measures).otherwise(0)
    return (
        _names(frames)
        .join(_membership(frames), on=ONE, how="left")
        .join(_executions(ran), on=ONE, how="left")
        .join(recorded_runs(frames), on="run", how="left")
        .join(_threads_in_logs(frames["dask.log_event"]), on="run", how="left")
        .join(_transition_reports(frames["dask.worker_transition"]), on=ONE, how="left")
        .join(_transfer_reports(frames["dask.transfer"]), on=ONE, how="left")
        .join(captured(frames["dask.process"]), on=ONE, how="left")
        .with_columns(
            pl.when("registrations").then(pl.col("registered").fill_null(value=False)),
            pl.when(idle).then(0).otherwise("executed").alias("executed"),
            # unknown if no execution on the worker was seen to end
            pl.when(idle).then(0.0).otherwise(pl.col("busy_s", "occupied_s")).name.keep(),
            pl.when(idle).then(pl.lit([], pl.List(pl.Int64))).otherwise("threads").alias("threads"),
            pl.when(recorded | (pl.col("unended") > 0)).then(pl.col("unended").fill_null(0)),
            pl.when(~silent & pl.col("transitioned")).then(pl.col("transitions").fill_null(0)),
            pl.when(~silent & pl.col("moved")).then(movements).name.keep(),
            reported=~silent,
            host=host_of(pl.col("worker")),
            nthreads=pl.coalesce("process_nthreads", "registered_nthreads", "nthreads"),
            first_report=pl.min_horizontal(f"{what}_first" for what in REPORTS),
            last_report=pl.max_horizontal(f"{what}_last" for what in REPORTS),
        )
        .select(
            *("run", "worker", "host", "registered", "registered_time", "removed_time"),
            *("executed", "busy_s", "occupied_s", "threads", "transitions", "transfers"),
            *("bytes_received", "bytes_sent", "unended", "nthreads", "reported"),
            *("first_report", "last_report"),
            *("name", "hostname", "pid", "clock_offset_s", "lost"),
        )
        .sort("run", "worker")
    )


def recorded_runs(frames: Frames) -> pl.LazyFrame:
    """Find which kinds of records each run has.

    Columns: run; registrations: of workers; by_scheduler, by_workers: executions;
    transitioned: transitions of workers; moved: transfers.
    """
    transitions = frames["dask.worker_transition"].drop_nulls("worker")
    logged = _log_membership(frames["dask.log_event"])
    kinds = {
        "registrations": [frames["dask.worker"].drop_nulls("worker"), logged],
        "by_scheduler": [frames["dask.task_transition"]],
        "by_workers": [transitions, frames["dask.execution"].drop_nulls("worker")],
        "transitioned": [transitions],
        "moved": [frames["dask.transfer"].drop_nulls("worker")],
    }
    found = pl.concat(
        frame.select("run", kind=pl.lit(kind)).unique()
        for kind, several in kinds.items()
        for frame in several
    )
    return found.group_by("run").agg((pl.col("kind") == kind).any().alias(kind) for kind in kinds)


def whole_runs(frames: Frames) -> pl.LazyFrame:
    """Select the runs (column run) whose workers are all known and each recorded its executions.

    In such a run, executions that are not recorded did not happen.
    """
    transitions, transfers = frames["dask.worker_transition"], frames["dask.transfer"]
    reporting = (transitions, transfers, captured(frames["dask.process"]))
    reported = pl.concat(frame.select(ONE) for frame in reporting).unique()
    silent = _names(frames).join(reported, on=ONE, how="anti").select("run").unique()
    known = recorded_runs(frames).filter("registrations", "transitioned")
    return known.select("run").join(silent, on="run", how="anti")


def _names(frames: Frames) -> pl.LazyFrame:
    transfers = frames["dask.transfer"]
    pieces = [
        _log_membership(frames["dask.log_event"]),
        frames["dask.worker"],
        captured(frames["dask.process"]),
        frames["dask.task_transition"],
        frames["dask.worker_transition"],
        transfers,
        transfers.select("run", worker="requestor"),
        transfers.select("run", worker="fulfiller"),
    ]
    return pl.concat(piece.select(ONE) for piece in pieces).drop_nulls("worker").unique()


def _log_membership(log: pl.LazyFrame) -> pl.LazyFrame:
    return log.filter(pl.col("kind").is_in(["registration", "removal"])).drop_nulls("worker")


def _membership(frames: Frames) -> pl.LazyFrame:
    """Find when workers came and went, and their number of threads when they came.

    Columns: run, worker, registered, registered_time, removed_time, registered_nthreads.
    """
    # couplers that leave out the action record a stimulus for removals only
    acted = pl.coalesce(
        pl.col("action"),
        pl.when(pl.col("stimulus_id").is_null()).then(pl.lit("add")).otherwise(pl.lit("remove")),
    )
    events = frames["dask.worker"].select(
        *ONE, "time", "nthreads", acted=acted, by=pl.lit("events")
    )
    kinds = {"registration": "add", "removal": "remove"}
    log = _log_membership(frames["dask.log_event"]).select(
        *ONE,
        pl.when(pl.col("undecided_times").is_null()).then("time"),
        nthreads=pl.lit(None, dtype=pl.Int64),
        acted=pl.col("kind").replace_strict(kinds, default=None),
        by=pl.lit("log"),
    )

    def when(acted: str, by: str) -> pl.Expr:
        return pl.col("time").filter((pl.col("acted") == acted) & (pl.col("by") == by))

    return (
        pl.concat([events, log])
        .drop_nulls("worker")
        .group_by(ONE)
        .agg(
            registered=(pl.col("acted") == "add").any(),
            registered_time=pl.coalesce(when("add", "events").min(), when("add", "log").min()),
            removed_time=pl.coalesce(when("remove", "events").max(), when("remove", "log").max()),
            registered_nthreads=pl.col("nthreads").sort_by("time").drop_nulls().last(),
        )
    )


def captured(processes: pl.LazyFrame) -> pl.LazyFrame:
    """Select facts on captured workers: one row per worker, by its last process."""
    ordered = processes.filter(pl.col("role") == "worker", pl.col("address").is_not_null()).sort(
        "start_time", "origin", nulls_last=False
    )
    return ordered.group_by("run", worker="address").agg(
        pl.col("name", "pid", "clock_offset_s").last(),
        hostname=pl.col("host").last(),
        process_nthreads=pl.col("nthreads").last(),
        lost=pl.col("end_time").last().is_null(),
        process_first=pl.col("start_time").min(),
        process_last=pl.col("last_time").max(),
    )


def _executions(found: pl.LazyFrame) -> pl.LazyFrame:
    # time that each interval, ordered by start, adds to the union of those before
    covered_until = pl.col("ended").cum_max().forward_fill().shift(1).over(ONE)
    fresh = pl.col("ended") - pl.max_horizontal("began", covered_until)
    threads = pl.col("thread").drop_nulls().unique(maintain_order=True)
    return (
        found.drop_nulls("worker")
        .sort("began", "ended", nulls_last=True)
        .with_columns(fresh=fresh.dt.total_microseconds().clip(lower_bound=0))
        .group_by(ONE)
        .agg(
            executed=pl.len().cast(pl.Int64),
            unended=pl.col("seconds").is_null().sum().cast(pl.Int64),
            busy_s=known_sum("seconds"),
            occupied_s=seconds(known_sum("fresh")),
            threads=threads,
        )
        .with_columns(threads=pl.when(pl.col("threads").list.len() > 0).then("threads"))
    )


def _threads_in_logs(log: pl.LazyFrame) -> pl.LazyFrame:
    """Find the number of threads of a run's workers, if all lines of its logs agree."""
    named = pl.element().filter(pl.element().struct.field("key") == "threads")
    value = pl.col("fields").cast(TEXT_MAP).list.eval(named.struct.field("value")).list.first()
    lines = log.filter(pl.col("kind") == "threads").select(
        "run", number=value.cast(pl.Int64, strict=False)
    )
    numbers = pl.col("number").drop_nulls().unique()
    return lines.group_by("run").agg(nthreads=pl.when(numbers.len() == 1).then(numbers.first()))


def _transition_reports(transitions: pl.LazyFrame) -> pl.LazyFrame:
    return transitions.group_by(ONE).agg(
        transitions=pl.len().cast(pl.Int64),
        transitions_first=pl.col("time").min(),
        transitions_last=pl.col("time").max(),
    )


def _transfer_reports(transfers: pl.LazyFrame) -> pl.LazyFrame:
    reported = pl.coalesce("time", "end_time")
    size, way = pl.col("bytes"), pl.col("direction")
    return (
        transfers.with_columns(bytes=moved_bytes(), reported=reported)
        .group_by(ONE)
        .agg(
            transfers=pl.len().cast(pl.Int64),
            transfers_first=pl.col("reported").min(),
            transfers_last=pl.col("reported").max(),
            bytes_received=sum_or_none(size.filter(way == "incoming")),
            bytes_sent=sum_or_none(size.filter(way == "outgoing")),
        )
    )
