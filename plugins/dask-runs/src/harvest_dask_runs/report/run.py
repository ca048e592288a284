"""The report ``dask.run``: one run on one page."""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl

from harvest import DatasetReader
from harvest.model.frames import seconds
from harvest.toolkit.amounts import bytes_in_words, share_in_words
from harvest.toolkit.amounts import count_in_words as count
from harvest_report import Column, LazySection, Notes, Report, Section, Table
from harvest_toolkit.frames import known_sum

from ..executions.executions import executions
from ..frames import Frames, choose_run, load, pairs_of
from ..parts.events import states_entered
from ..record_names import DASK_TYPES
from ..trace.tasks import place_tasks
from ..trace.tracks import micros_of, microseconds_since
from ..views.indicators import judged_runs
from ..views.kinds import kinds_of
from ..views.workers import whole_runs
from .causes import time_sections, time_sentence
from .io import RunIo, io_by_task, io_sections, io_sentence, run_io
from .stream import occupancy, stream
from .transfers import matrix, pairs_table


def dask_run(data: DatasetReader, run: str | None = None, top: int = 20) -> Report:
    """The report over one run.

    run: its directory, or the directory's name; needed where the dataset holds several.
    top: how many of the slowest tasks and of the largest transfers are listed.

    Raises UsageError when a run is to be chosen.
    """
    name = choose_run(data, run, "--set run=NAME")
    frames = load(data, DASK_TYPES, run=name)
    (summary,) = data.view("dask.run_summary", run=name).collect().to_dicts()
    workers = data.view("dask.workers", run=name).collect()
    start = micros_of(summary["first_time"])
    found = executions(frames).collect()
    since_start = microseconds_since(start, pl.col("start", "end"))
    tasks = place_tasks(found, summary["last_time"]).with_columns(since_start)
    rows, path = judged_runs(data, name)
    (judged,) = rows.to_dicts()
    io = run_io(data, name)
    kinds = cache(lambda: kinds_of(found, frames, io.tied, whole_runs(frames).collect()))
    return Report(
        f"Dask run {name.rpartition('/')[2]}",
        intro=[
            *_intro(summary, workers, tasks, judged),
            *filter(None, [time_sentence(judged), io_sentence(io)]),
        ],
        sections=[
            _gaps(summary),
            *time_sections(path, judged, start),
            LazySection("stream", lambda: _streams(tasks, kinds(), workers)),
            LazySection("prefixes", lambda: _prefixes(kinds())),
            LazySection("failures", lambda: _failures(kinds())),
            _workers(workers, tasks, summary),
            LazySection("states", lambda: _states(frames)),
            LazySection("transfers", lambda: _transfers(frames["dask.transfer"], top)),
            LazySection("io", lambda: io_sections(io, tasks, start)),
            LazySection("slowest", lambda: _slowest(io, tasks, top)),
            _notes(),
        ],
    )


def _intro(
    summary: dict[str, Any], workers: pl.DataFrame, tasks: pl.DataFrame, judged: dict[str, Any]
) -> list[str]:
    hosts = {node["role"]: node["hosts"] for node in summary["nodes"] or []}
    on = f" on {count(hosts['worker'], 'node')}" if hosts.get("worker") else ""
    registered = summary["workers"]
    known = "" if registered == workers.height else f" ({registered} of them registered)"
    if registered is None:
        known = " that any record names"
    parts = [
        f"{count(summary['tasks'] or 0, 'task')}, {tasks['key'].n_unique():,} of them executed in "
        f"{count(tasks.height, 'execution')}; {count(workers.height, 'worker')}{known}{on}, from "
        f"{_clock(summary['first_time'])} to {_clock(summary['last_time'])} UTC: "
        f"{summary['wall_s'] or 0:,.1f} s.",
        f"{_execution_sentence(judged)} {_transfer_sentence(judged)}",
    ]
    troubles = [
        count(summary[what], f"task {how}", f"tasks {how}")
        for what, how in (("erred_tasks", "that erred"), ("unfinished_tasks", "left unfinished"))
        if summary[what]
    ]
    if troubles:
        parts.append(f"There {'is' if troubles[0].startswith('1 ') else 'are'} "
                     f"{' and '.join(troubles)}.")  # fmt: skip
    return parts


def _execution_sentence(judged: dict[str, Any]) -> str:
    executions, unended = judged["executions"] or 0, judged["unended"] or 0
    if not executions:
        return "No execution is recorded."
    if unended == executions:
        return "No execution was seen to end, so that their durations are not known."
    left_out = f"; {count(unended, 'execution')} not seen to end left out" if unended else ""
    used = ""
    if judged["used_share"] is not None:
        observed, workers = judged["observed_workers"], judged["workers"]
        whose = f"of the {observed} of {workers} workers that were observed "
        part = "" if observed == workers else whose
        used = (
            f"; of what the {count(judged['observed_threads'], 'thread')} {part}had between the "
            f"first task and the end of the last, {share_in_words(judged['used_share'])} was used"
        )
    return f"Executing took {judged['busy_s']:,.1f} thread-seconds{used}{left_out}."


def _transfer_sentence(judged: dict[str, Any]) -> str:
    if judged["movements"] is None:
        return "No transfer is recorded: what moved is not known."
    if judged["moved_bytes"] is None:
        return f"How much its {count(judged['movements'], 'transfer')} moved is not recorded."
    least = "At least " if judged["silent_workers"] else ""
    return f"{least}{bytes_in_words(judged['moved_bytes'])} moved between workers and to clients."


def _gaps(summary: dict[str, Any]) -> Notes:
    items = [f"{item[0].upper()}{item[1:]}." for item in summary["completeness_notes"]]
    return Notes(
        "completeness",
        items or ["Nothing: all registered workers reported, and no event is known to be lost."],
        title="What the record lacks",
    )


def _streams(tasks: pl.DataFrame, kinds: pl.DataFrame, workers: pl.DataFrame) -> list[Section]:
    if tasks.is_empty():
        unknown = "neither did a worker record that it executed a task, nor the scheduler that"
        text = f"No execution is recorded: {unknown} one reached memory."
        return [Notes("stream", [text], title="Task stream")]
    return [stream(tasks, kinds["prefix"].to_list()), occupancy(tasks, workers)]


def _prefixes(kinds: pl.DataFrame) -> Table:
    unended = [Column("unended", "not ended", doc="executions not seen to end; in no time here")]
    return Table(
        "prefixes",
        kinds,
        (
            Column("prefix", doc="what tasks of one kind have in common in their keys"),
            *("tasks", "executions"),
            *(unended if kinds["unended"].sum() else []),
            Column("total_s", "total", "s"),
            Column("share", "share", None, ".1%", doc="of the time of all executions that ended"),
            Column("mean_s", "mean", "s"),
            Column("median_s", "median", "s"),
            Column("max_s", "longest", "s"),
            Column("size_bytes", "results", "bytes", doc="all together, as the scheduler has them"),
        ),
        title="Kinds of tasks",
    )


def _failures(kinds: pl.DataFrame) -> list[Section]:
    """Kinds of tasks whose executions failed or were repeated; nothing where there is none."""
    rows = kinds.filter((pl.col("failed") > 0) | (pl.col("repeated") > 0))
    table = Table(
        "failures",
        rows.sort("failed", "repeated", "prefix", descending=[True, True, False]),
        (
            "prefix",
            Column("attempts", "executions", doc="with those that only the scheduler saw fail"),
            "failed",
            Column("error_type", "raised most", doc="the type of exception that most of them are"),
            Column("error_type_failed", "so often"),
            Column("error", "such as", doc="the commonest text of these"),
            Column("repeated", doc="executions beyond the first of a task"),
            Column("repeated_s", "their time", "s", doc="of all but the last of these tasks"),
            Column("rescheduled", doc="of repeated, since a shuffle or the task asked for it"),
        ),
        title="Failures and repeats",
    )
    return [table] if rows.height else []


def _workers(workers: pl.DataFrame, tasks: pl.DataFrame, summary: dict[str, Any]) -> Table:
    wall = summary["wall_s"] or 0.0
    share = pl.col("occupied_s") / wall if wall else pl.lit(None, pl.Float64)
    rows = pl.concat([workers, _on_unknown_workers(tasks)], how="diagonal").with_columns(
        share=share
    )
    unended = [Column("unended", "not ended", doc="those not seen to end; in no time here")]
    return Table(
        "workers",
        rows,
        (
            Column("worker", format="id"),
            Column("executed", doc="executions on it, as the scheduler or itself recorded them"),
            *(unended if rows["unended"].sum() else []),
            Column("nthreads", "threads", doc="that it has, as it recorded or the logs say"),
            Column("busy_s", "busy", "s", ",.2f", doc="durations of its executions together"),
            Column("share", "occupied", None, ".1%",
                   doc="part of the run in which at least one of its threads was executing"),
            Column("bytes_received", "received", "bytes", doc="by its own account"),
            Column("bytes_sent", "sent", "bytes", doc="by its own account"),
            Column("reported", doc="whether it recorded anything itself; silence is not idleness"),
        ),
        title="Workers",
        note="What has no value was not recorded.",
    )  # fmt: skip


def _on_unknown_workers(tasks: pl.DataFrame) -> pl.DataFrame:
    """A row for executions on workers that nobody recorded; none where there is none."""
    return (
        tasks.filter(pl.col("worker").is_null())
        .select(
            worker=pl.lit("(not recorded)"),
            executed=pl.len().cast(pl.Int64),
            unended=pl.col("seconds").is_null().sum().cast(pl.Int64),
            busy_s=known_sum("seconds"),
        )
        .filter(pl.col("executed") > 0)
    )


def _states(frames: Frames) -> Table:
    records = {
        "scheduler": (frames["dask.task_transition"], ["key"]),
        "workers": (frames["dask.worker_transition"], ["worker", "key"]),
    }
    tables = []
    for by, (transitions, one) in records.items():
        spent = pl.col("spent")
        tables.append(
            states_entered(transitions, one)
            .group_by("state")
            .agg(
                tasks=pl.col("key").n_unique().cast(pl.Int64),
                entered=pl.len().cast(pl.Int64),
                total_s=pl.when(spent.count() > 0).then(seconds(spent.sum())),
                mean_s=pl.when(spent.count() > 0).then(spent.sum() / spent.count() / 1e6),
                max_s=seconds(spent.max()),
            )
            .sort("total_s", "state", descending=[True, False], nulls_last=True)
            .select(pl.lit(by).alias("told_by"), pl.all())
        )
    return Table(
        "states",
        pl.concat(pl.collect_all(tables)),
        (
            Column("told_by", "recorded by"),
            *("state", "tasks"),
            Column("entered", doc="how often a task came into the state"),
            Column("total_s", "total", "s", doc="over all tasks, until each left the state"),
            Column("mean_s", "mean", "s"),
            Column("max_s", "longest", "s"),
        ),
        title="Time in states",
        group="told_by",
        note="The state in which a task was last seen counts no time.",
    )


def _transfers(transfers: pl.LazyFrame, top: int) -> list[Section]:
    pairs = pairs_of(transfers).collect()
    if pairs.is_empty():
        unknown = "whether data moved between workers, and how much, is not known"
        return [Notes("transfers", [f"No transfer is recorded: {unknown}."], title="Transfers")]
    sized = [matrix(pairs)] if pairs["bytes"].is_not_null().any() else []
    return [*sized, pairs_table(pairs, top)]


def _slowest(io: RunIo, tasks: pl.DataFrame, top: int) -> Section:
    if tasks["seconds"].is_null().all():
        unknown = "No execution was seen to end, so that which took longest is not known."
        return Notes("slowest", [unknown], title="Slowest tasks")
    slowest = tasks.sort("seconds", "key", descending=[True, False], nulls_last=True).head(top)
    columns = [
        Column("key", format="id"),
        Column("worker", format="id"),
        Column("start_s", "start", "s", ",.3f", doc="since the first event of the run"),
        Column("seconds", "duration", "s"),
        Column("size_bytes", "result", "bytes"),
    ]
    moved = io_by_task(io)
    if moved is not None:
        slowest = slowest.join(moved, on=["key", "worker"], how="left", maintain_order="left")
        columns += [
            Column("read_bytes", "read", "bytes",
                   doc="by all executions of the task on that worker, as far as it is known to be "
                   "theirs"),
            Column("write_bytes", "written", "bytes"),
        ]  # fmt: skip
    return Table(
        "slowest",
        slowest.with_columns(start_s=pl.col("start") / 1e6),
        columns,
        title="Slowest tasks",
        note=None if tasks.height <= top else f"The {top} longest of {tasks.height:,} executions.",
    )


def _notes() -> Notes:
    return Notes(
        "notes",
        [
            "An execution is what the scheduler saw reach memory, or what a worker recorded as "
            "executing; what both recorded counts once. It is shown where the worker itself says "
            "that it was executing; where the worker recorded nothing, at begins and ends as the "
            "scheduler has them, which may be off by the clocks' difference. Durations are those "
            "that the scheduler has of the worker, else those of the worker's own transitions.",
            "Bytes of files are of three kinds. Counted: moved, by Darshan's counters. Traced: "
            "asked for in single operations that DXT recorded, each with its time. Untraced: the "
            "difference, mostly buffered I/O (STDIO), of which Darshan keeps counts alone.",
            "Transfers are reported by the side that sends and the one that receives, or by one of "
            "them; of each pair of workers the larger account counts.",
            "`harvest dask-runs trace` writes the same run as a timeline to zoom into.",
        ],
        title="How to read it",
    )


def _clock(time: Any) -> str:
    return "?" if time is None else f"{time:%Y-%m-%d %H:%M:%S}"
