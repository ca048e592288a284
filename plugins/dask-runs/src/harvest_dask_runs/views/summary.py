"""The view ``dask.run_summary``: a run at a glance, with sentences on gaps in its record."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import polars as pl

from harvest import DatasetReader
from harvest.model.frames import seconds
from harvest.toolkit.amounts import count_in_words as count
from harvest_dask.records.key_prefixes import prefix_of
from harvest_toolkit.frames import count_if_known, known_sum, sum_or_none

from ..executions import executions
from ..frames import Frames, load, moved_bytes, pairs_of, sentence
from ..record_names import DASK_TYPES, JOB_TYPES
from .parts import NO_LINES
from .workers import recorded_runs, worker_frame

LEFT_STATES = ("memory", "released", "forgotten", "erred")
"""Scheduler states in which a task is done."""


def run_summary(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """Compute one row per run."""
    return summary_frame(load(dataset, (*DASK_TYPES, *JOB_TYPES), run=run))


def summary_frame(
    frames: Frames, found: pl.LazyFrame | None = None, workers: pl.LazyFrame | None = None
) -> pl.LazyFrame:
    """Compute the view from frames with the column ``run``.

    found: their executions; workers: their rows of ``dask.workers``, if known.
    """
    found = executions(frames) if found is None else found
    workers = worker_frame(frames, found) if workers is None else workers
    transfers, graphs = frames["dask.transfer"], frames["dask.graph_task"]
    clients = pl.concat(each.select("run", "client") for each in (frames["dask.client"], graphs))
    frame = pl.concat([frames[name].select("run") for name in DASK_TYPES]).unique()
    for piece in (
        _times(frames),
        _task_counts(frames),
        _scheduler(frames["dask.task_transition"]),
        frames["dask.worker_transition"].group_by("run").agg(worker_transitions=_rows()),
        _transfers(transfers),
        pairs_of(transfers).group_by("run").agg(bytes_moved=known_sum("bytes")),
        _workers(frames, found, workers),
        _log(frames["dask.log_event"]),
        _processes(frames["dask.process"]),
        clients.group_by("run").agg(clients=_distinct("client")),
        graphs.select("run", "origin", "graph").unique().group_by("run").agg(graphs=_rows()),
        _errors(frames),
        _job(frames),
    ):
        frame = frame.join(piece, on="run", how="left")
    return (
        frame.with_columns(
            blind_spells=pl.when(pl.col("processes") > 0).then(
                pl.col("blind_spells").fill_null(pl.lit([], pl.List(pl.String)))
            ),
            wall_s=seconds((pl.col("last_time") - pl.col("first_time")).dt.total_microseconds()),
        )
        .with_columns(
            completeness_notes=pl.struct(pl.all()).map_batches(
                _notes, return_dtype=_SENTENCES, is_elementwise=True
            )
        )
        .with_columns(complete=pl.col("completeness_notes").list.len() == 0)
        .select(COLUMNS)
        .sort("run")
    )


COLUMNS = (
    *("run", "first_time", "last_time", "wall_s"),
    *("tasks", "graph_tasks", "task_groups", "task_prefixes"),
    *("scheduler_transitions", "worker_transitions", "transfers", "transfer_copies"),
    *("bytes_received", "bytes_sent", "bytes_to_clients", "bytes_moved"),
    *("workers", "workers_reported", "silent_workers", "unregistered_workers", "data_failures"),
    *("clients", "graphs", "erred_tasks", "unfinished_tasks", "nodes", "directives"),
    *("processes", "lost_processes", "blind_spells", "complete", "completeness_notes"),
)
_SENTENCES = pl.List(pl.String)


def _notes(runs: pl.Series) -> pl.Series:
    rows = runs.struct.unnest().iter_rows(named=True)
    return pl.Series([list(completeness_notes(row)) for row in rows], dtype=_SENTENCES)


def _rows() -> pl.Expr:
    return pl.len().cast(pl.Int64)


def _some(flag: pl.Expr) -> pl.Expr:
    """Count the rows with a flag; null for none."""
    return pl.when(flag.any()).then(flag.sum().cast(pl.Int64))


def _distinct(column: str) -> pl.Expr:
    """Count the distinct values of a column; null for none."""
    values = pl.col(column).drop_nulls()
    return pl.when(values.len() > 0).then(values.n_unique().cast(pl.Int64))


def _times(frames: Frames) -> pl.LazyFrame:
    transfers = frames["dask.transfer"]
    names = ("task_transition", "worker_transition", "worker", "client", "graph_task")
    recorded = pl.concat(
        [
            *(frames[f"dask.{name}"].select("run", "time") for name in names),
            *(transfers.select("run", time=pl.col(c)) for c in ("start_time", "end_time", "time")),
        ]
    )
    span, logged = (
        times.group_by("run").agg(first=pl.col("time").min(), last=pl.col("time").max())
        for times in (recorded, frames["dask.log_event"])
    )
    # ambiguous times give no span, since they may be an hour off
    unclear = frames["dask.log_event"].drop_nulls("undecided_times").select("run").unique()
    logged = logged.join(unclear, on="run", how="anti")
    return span.join(logged, on="run", how="full", coalesce=True, suffix="_logged").select(
        "run",
        first_time=pl.coalesce("first", "first_logged"),
        last_time=pl.coalesce("last", "last_logged"),
    )


def _task_counts(frames: Frames) -> pl.LazyFrame:
    """Count distinct keys, their prefixes, and keys in graphs without a scheduler's record.

    A count is null if the run lacks that kind of record.
    """
    carried = pl.col("keys").list.eval(pl.element().struct.field("key"))
    records = {
        "scheduler": frames["dask.task_transition"].select("run", "key", "prefix"),
        "worker": frames["dask.worker_transition"].select("run", "key"),
        "graph": frames["dask.graph_task"].select("run", "key"),
        "transfer": frames["dask.transfer"].select("run", key=carried).explode("key"),
    }
    keys = [frame.with_columns(by=pl.lit(by)).unique() for by, frame in records.items()]
    return (
        pl.concat(keys, how="diagonal")
        .drop_nulls("key")
        .group_by("run", "key")
        .agg(
            in_graph=(pl.col("by") == "graph").any(),
            scheduled=(pl.col("by") == "scheduler").any(),
            prefix=pl.col("prefix").drop_nulls().first(),
        )
        .with_columns(prefix=pl.coalesce("prefix", prefix_of(pl.col("key"))))
        .group_by("run")
        .agg(
            tasks=_rows(),
            task_prefixes=pl.col("prefix").n_unique().cast(pl.Int64),
            graph_tasks=_some(pl.col("in_graph")),
            untold_graph_tasks=(pl.col("in_graph") & ~pl.col("scheduled")).sum().cast(pl.Int64),
        )
    )


def _scheduler(transitions: pl.LazyFrame) -> pl.LazyFrame:
    counts = transitions.group_by("run").agg(
        scheduler_transitions=_rows(), task_groups=_distinct("group")
    )
    pending = (
        transitions.select("run", "key", "time", "position", "finish_state")
        .sort("time", "position", maintain_order=True)
        .group_by("run", "key")
        .agg(state=pl.col("finish_state").last())
        .group_by("run")
        .agg(unfinished_tasks=(~pl.col("state").is_in(LEFT_STATES)).sum().cast(pl.Int64))
    )
    return counts.join(pending, on="run", how="left")


def _transfers(transfers: pl.LazyFrame) -> pl.LazyFrame:
    incoming = pl.col("direction") == "incoming"
    to_client = ~incoming & pl.col("requestor").is_null()
    size = pl.col("bytes")
    return (
        transfers.with_columns(bytes=moved_bytes())
        .group_by("run")
        .agg(
            transfers=_rows(),
            transfer_copies=pl.col("copies").sum(),
            bytes_received=sum_or_none(size.filter(incoming)),
            bytes_sent=sum_or_none(size.filter(pl.col("direction") == "outgoing")),
            bytes_to_clients=sum_or_none(size.filter(to_client)),
        )
    )


def _workers(frames: Frames, found: pl.LazyFrame, workers: pl.LazyFrame) -> pl.LazyFrame:
    registered, reported = pl.col("registered"), pl.col("reported")
    known = registered.is_not_null().any()
    silent = registered & ~reported
    # executions on a worker that recorded others, but not this one
    missed = (
        found.filter(pl.col("by_scheduler") & ~pl.col("by_worker"))
        .group_by("run", "worker")
        .agg(missed=_rows())
    )
    return (
        workers.join(missed, on=["run", "worker"], how="left")
        .join(recorded_runs(frames), on="run", how="left")
        .group_by("run")
        .agg(
            workers=count_if_known(registered),
            workers_reported=_some(reported),
            silent_busy_workers=(silent & (pl.col("executed") > 0)).sum().cast(pl.Int64),
            silent_workers=pl.when(known).then(pl.col("worker").filter(silent).sort().implode()),
            unregistered_workers=pl.when(known).then(
                pl.col("worker").filter(reported & ~registered).sort().implode()
            ),
            missed_executions=pl.col("missed").filter(pl.col("transitions") > 0).sum(),
            all_captured=pl.col("lost").is_not_null().all(),
        )
    )


def _log(log: pl.LazyFrame) -> pl.LazyFrame:
    failed, blind = pl.col("kind") == "data_failure", pl.col("kind") == "blind"
    who = pl.coalesce(sentence("worker ", pl.col("worker")), "source", pl.lit("a process"))
    return (
        log.with_columns(spell=sentence(who, ": ", pl.col("message")))
        .sort("time", "origin", "position", nulls_last=True)
        .group_by("run")
        .agg(
            logged=(~pl.col("kind").is_in(NO_LINES)).any(),
            # only the consumer's log says what it lost
            data_failures=pl.when((pl.col("source") == "consumer").any() | failed.any()).then(
                failed.sum().cast(pl.Int64)
            ),
            blind_spells=pl.col("spell").filter(blind),
        )
    )


def _processes(processes: pl.LazyFrame) -> pl.LazyFrame:
    who = sentence(pl.col("role").fill_null("process"), " ", pl.col("address").fill_null("?"))
    since = pl.col("last_time").dt.strftime("%Y-%m-%d %H:%M:%S").fill_null("an unknown time")
    lost = sentence(who, " (since ", since, ")")
    return processes.group_by("run").agg(
        processes=_rows(), lost_processes=lost.filter(pl.col("end_time").is_null()).sort()
    )


def _errors(frames: Frames) -> pl.LazyFrame:
    states = {"dask.task_transition": "erred", "dask.worker_transition": "error"}
    erred = pl.concat(
        frames[name].select("run", key=pl.when(pl.col("finish_state") == state).then("key"))
        for name, state in states.items()
    )
    keys = pl.col("key").drop_nulls()
    return erred.group_by("run").agg(erred_tasks=keys.n_unique().cast(pl.Int64))


def _job(frames: Frames) -> pl.LazyFrame:
    nodes = (
        frames["run.node"]
        .group_by("run", "role")
        .agg(hosts=pl.col("host").n_unique().cast(pl.Int64))
        .sort("role")
        .group_by("run")
        .agg(nodes=pl.struct("role", "hosts"))
    )
    directives = (
        frames["run.directive"]
        .sort("origin", "position")
        .group_by("run")
        .agg(directives=pl.struct("key", "value"))
    )
    return nodes.join(directives, on="run", how="full", coalesce=True)


SHOWN: Final = 8
"""Maximum names in a sentence; the summary's columns have all of them."""

_NAMED: Final = re.compile(r"_R\d+_W(\d{1,9})\Z")
"""End of a run's directory: ``D<date>_<time>_R<repetition>_W<workers>``."""


def completeness_notes(run: Mapping[str, Any]) -> Iterator[str]:
    """Describe the gaps in a run's record in sentences; none if it is complete.

    run: a row of the summary, with silent_busy_workers, missed_executions, untold_graph_tasks,
    all_captured and logged; counts are null if a kind of record is missing.
    """
    if run["scheduler_transitions"] is None:
        yield (
            "no scheduler transition is recorded: states of tasks, their threads and the sizes of "
            "results are unknown; workers recorded the executions, and kinds of tasks are derived "
            "from keys"
        )
    yield from _on_workers(run)
    yield from _on_losses(run)
    if missed := run["missed_executions"]:
        yield (
            f"only the scheduler recorded {count(missed, 'execution')} of workers that recorded "
            "others: records of workers may begin late, or lack events"
        )
    if run["untold_graph_tasks"] and run["scheduler_transitions"]:
        yield (
            f"{run['untold_graph_tasks']} of {run['graph_tasks']} tasks in the graphs have no "
            "scheduler transition"
        )
    if unfinished := run["unfinished_tasks"]:
        yield (
            f"{count(unfinished, 'task')} reached none of memory, erred and released: the record "
            "may end before the run did"
        )
    if run["worker_transitions"] is None and run["scheduler_transitions"]:
        yield "no worker transition is recorded: the executions and their times are the scheduler's"
    if run["transfers"] is None and not run["all_captured"]:
        yield "no transfer is recorded: it is unknown how much data moved"
    if run["graphs"] is None:
        yield "no graph is recorded: dependencies and clients of tasks are unknown"
    if not run["logged"]:
        yield "no log of Dask is recorded: memory warnings and deaths of workers are unknown"


def _on_workers(run: Mapping[str, Any]) -> Iterator[str]:
    workers, named = run["workers"], _NAMED.search(run["run"])
    if workers is None:
        yield "no worker registration is recorded: workers without events are unknown"
    if workers and named and int(named[1]) > workers:
        yield f"the directory's name says {int(named[1])} workers, but {workers} registered"
    if silent := run["silent_workers"]:
        yield (
            f"{len(silent)} of {workers} registered workers reported no events: "
            f"{_names(silent)}; silence there is not idleness"
        )
    if busy := run["silent_busy_workers"]:
        yield (f"the scheduler recorded executions on {count(busy, 'worker')} without events")
    if workers and (strange := run["unregistered_workers"]):
        yield (f"{count(len(strange), 'worker')} reported without registration: {_names(strange)}")


def _on_losses(run: Mapping[str, Any]) -> Iterator[str]:
    if events := run["data_failures"]:
        yield f"{count(events, 'event was', 'events were')} lost in the consumer"
    if lost := run["lost_processes"]:
        how = "killed, unable to write, or still running when it was read"
        yield f"{count(len(lost), 'record')} without an end ({how}): {_names(lost)}"
    if spells := run["blind_spells"]:
        yield f"not recorded: {_names(spells, '; ', '; and ')}"


def _names(names: Sequence[str], between: str = ", ", last: str = " and ") -> str:
    more = f"{last}{len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return between.join(names[:SHOWN]) + more
