"""The report ``dask.run``: one run on one page."""

from collections.abc import Callable
from typing import Any, Final

import polars as pl

from harvest import DatasetReader
from harvest.model.frames import seconds
from harvest.toolkit.amounts import bytes_in_words, seconds_in_words, share_in_words
from harvest.toolkit.amounts import count_in_words as count
from harvest_report import Column, LazySection, Notes, Report, Section, Table, Tile
from harvest_toolkit.frames import fraction, known_sum

from ..frames import Frames, choose_run, load, pairs_of, repeated_events
from ..record_names import DASK_TYPES, JOB_TYPES
from ..trace.tasks import place_tasks
from ..trace.tracks import micros_of, microseconds_since
from ..views.indicators import judged_runs
from ..views.summary import summary_frame
from ..views.tasks import states_entered
from .causes import time_sections, time_sentence
from .io import io_by_task, io_sections
from .stream import occupancy, stream
from .transfers import matrix, pairs_table

UNENDED = (Column("unended", "not ended", doc="executions without an end; no time counts them"),)


def dask_run(data: DatasetReader, run: str | None = None, top: int = 20) -> Report:
    """Build the report on one run.

    run: its directory, or the directory's name; needed if the dataset holds several.
    top: number of slowest tasks and of largest transfers that are listed.

    Raises UsageError if the dataset holds several runs and none is named.
    """
    name = choose_run(data, run, "--set run=NAME")
    frames = load(data, (*DASK_TYPES, *JOB_TYPES), run=name)
    judged = judged_runs(data, name)
    workers, kinds = judged.workers, judged.kinds
    summarized = summary_frame(frames, judged.executions.lazy(), workers.lazy())
    (summary,) = summarized.collect().to_dicts()
    start = micros_of(summary["first_time"])
    since_start = microseconds_since(start, pl.col("start", "end"))
    tasks = place_tasks(judged.executions, summary["last_time"]).with_columns(since_start)
    (numbers,) = judged.rows.to_dicts()
    return Report(
        f"Dask run {name.rpartition('/')[2]}",
        intro=[*_intro(summary, workers), *filter(None, [time_sentence(numbers)])],
        tiles=_tiles(summary, numbers, tasks["key"].n_unique()),
        picture="stream",
        sections=[
            _gaps(summary),
            *time_sections(judged.path, numbers, start),
            LazySection("stream", lambda: _streams(tasks, kinds, workers)),
            LazySection("prefixes", lambda: _prefixes(kinds)),
            LazySection("failures", lambda: _failures(kinds)),
            _workers(workers, tasks, summary),
            LazySection("states", lambda: _states(frames)),
            LazySection("transfers", lambda: _transfers(frames["dask.transfer"], top)),
            LazySection("io", lambda: io_sections(data, name, judged, tasks, start)),
            LazySection("slowest", lambda: _slowest(judged.io, tasks, top)),
            _notes(repeated_events(data, name)),
        ],
    )


def _intro(summary: dict[str, Any], workers: pl.DataFrame) -> list[str]:
    hosts = {node["role"]: node["hosts"] for node in summary["nodes"] or []}
    on = f" on {count(hosts['worker'], 'node')}" if hosts.get("worker") else ""
    registered = summary["workers"]
    known = "" if registered == workers.height else f" ({registered} of them registered)"
    if registered is None:
        known = " (registrations not recorded)"
    troubles = [
        count(summary[what], f"task {how}", f"tasks {how}")
        for what, how in (("erred_tasks", "erred"), ("unfinished_tasks", "did not finish"))
        if summary[what]
    ]
    return [
        f"{count(workers.height, 'worker')}{known}{on}, from {_clock(summary['first_time'])} to "
        f"{_clock(summary['last_time'])} UTC.",
        *([f"{' and '.join(troubles)}."] if troubles else []),
    ]


def _tiles(summary: dict[str, Any], numbers: dict[str, Any], executed: int) -> list[Tile]:
    failed = f"; {numbers['failed']:,} failed" if numbers["failed"] else ""
    moved, read = numbers["moved_bytes"], numbers["counted_bytes"]
    least = "at least: some workers are silent" if numbers["silent_workers"] else ""
    return [
        Tile("run time", _known(summary["wall_s"], seconds_in_words), "first to last event"),
        Tile("thread use", _known(numbers["used_share"], share_in_words), _use(numbers)),
        Tile(
            "executions",
            f"{numbers['executions'] or 0:,}",
            f"{executed:,} of {count(summary['tasks'] or 0, 'task')} ran{failed}",
        ),
        Tile(
            "transferred",
            _known(moved, bytes_in_words),
            least or count(numbers["movements"] or 0, "transfer"),
        ),
        Tile(
            "read and written",
            _known(read, bytes_in_words),
            f"{share_in_words(numbers['traced_bytes'] / read)} traced" if read else "",
        ),
    ]


def _known(value: float | None, in_words: Callable[[float], str]) -> str:
    return "not recorded" if value is None else in_words(value)


def _use(numbers: dict[str, Any]) -> str:
    """Say which time the share of used threads is from."""
    executions, unended = numbers["executions"] or 0, numbers["unended"] or 0
    if unended == executions:
        return "no execution was seen to end" if executions else "no execution is recorded"
    observed, workers = numbers["observed_workers"], numbers["workers"]
    return (
        f"{numbers['busy_s']:,.1f} thread-seconds"
        + (f"; {observed} of {workers} workers observed" if observed != workers else "")
        + (f"; {unended:,} executions without an end" if unended else "")
    )


def _gaps(summary: dict[str, Any]) -> Notes:
    items = [f"{item[0].upper()}{item[1:]}." for item in summary["completeness_notes"]]
    return Notes(
        "completeness",
        items or ["Nothing: all registered workers reported, and no event was lost."],
        title="Gaps in the record",
    )


def _streams(tasks: pl.DataFrame, kinds: pl.DataFrame, workers: pl.DataFrame) -> list[Section]:
    if tasks.is_empty():
        return [Notes("stream", ["No execution is recorded."], title="Task stream")]
    return [stream(tasks, kinds["prefix"].to_list()), occupancy(tasks, workers)]


def _prefixes(kinds: pl.DataFrame) -> Table:
    return Table(
        "prefixes",
        kinds,
        (
            Column("prefix", doc="the common part of the keys of a kind of task"),
            *("tasks", "executions"),
            *(UNENDED if kinds["unended"].sum() else ()),
            Column("total_s", "total", "s"),
            Column("share", "share", None, ".1%", doc="of the time of all executions that ended"),
            Column("mean_s", "mean", "s"),
            Column("median_s", "median", "s"),
            Column("max_s", "longest", "s"),
            Column("size_bytes", "results", "bytes", doc="sum, by the scheduler"),
        ),
        title="Kinds of tasks",
    )


def _failures(kinds: pl.DataFrame) -> list[Section]:
    """List kinds of tasks with failed or repeated executions; nothing without any."""
    rows = kinds.filter((pl.col("failed") > 0) | (pl.col("repeated") > 0))
    table = Table(
        "failures",
        rows.sort("failed", "repeated", "prefix", descending=[True, True, False]),
        (
            "prefix",
            Column("attempts", "executions", doc="with failures that only the scheduler recorded"),
            "failed",
            Column("error_type", "commonest error", doc="type of exception of most failures"),
            Column("error_type_failed", "times"),
            Column("error", "for example", doc="its commonest text"),
            Column("repeated", doc="executions beyond the first of a task"),
            Column(
                "repeated_s", "repeat time", "s", doc="of all but the last execution of each task"
            ),
            Column("rescheduled", doc="repeats that a shuffle or the task asked for"),
        ),
        title="Failures and repeats",
    )
    return [table] if rows.height else []


def _workers(workers: pl.DataFrame, tasks: pl.DataFrame, summary: dict[str, Any]) -> Table:
    every = pl.concat([workers, _on_unknown_workers(tasks)], how="diagonal")
    rows = every.with_columns(share=fraction("occupied_s", pl.lit(summary["wall_s"], pl.Float64)))
    return Table(
        "workers",
        rows,
        (
            Column("worker", format="id"),
            Column("executed", doc="executions, by the scheduler or the worker"),
            *(UNENDED if rows["unended"].sum() else ()),
            Column("nthreads", "threads", doc="by its own record or the logs"),
            Column("busy_s", "busy", "s", ",.2f", doc="sum of its executions"),
            Column("share", "occupied", None, ".1%",
                   doc="part of the run in which at least one of its threads ran a task"),
            Column("bytes_received", "received", "bytes", doc="by its own record"),
            Column("bytes_sent", "sent", "bytes", doc="by its own record"),
            Column("reported", doc="whether it recorded anything; silence is not idleness"),
        ),
        title="Workers",
        note="Empty cells: not recorded.",
    )  # fmt: skip


def _on_unknown_workers(tasks: pl.DataFrame) -> pl.DataFrame:
    """Make a row for executions on workers that are not recorded; no row without any."""
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
            Column("entered", doc="times that a task entered the state"),
            Column("total_s", "total", "s", doc="of all tasks, until each left the state"),
            Column("mean_s", "mean", "s"),
            Column("max_s", "longest", "s"),
        ),
        title="Time in states",
        group="told_by",
        note="The last state of a task counts no time.",
    )


def _transfers(transfers: pl.LazyFrame, top: int) -> list[Section]:
    pairs = pairs_of(transfers).collect()
    if pairs.is_empty():
        return [Notes("transfers", ["No transfer is recorded."], title="Transfers")]
    sized = [matrix(pairs)] if pairs["bytes"].is_not_null().any() else []
    return [*sized, pairs_table(pairs, top)]


def _slowest(io: pl.DataFrame, tasks: pl.DataFrame, top: int) -> Section:
    """io: rows of ``dask.task_io``."""
    if tasks["seconds"].is_null().all():
        return Notes("slowest", ["No execution was seen to end."], title="Slowest tasks")
    slowest = tasks.sort("seconds", "key", descending=[True, False], nulls_last=True).head(top)
    columns = [
        Column("key", format="id"),
        Column("worker", format="id"),
        Column("start_s", "start", "s", ",.3f", doc="since the first event of the run"),
        Column("seconds", "duration", "s"),
        Column("size_bytes", "result", "bytes"),
    ]
    moved = io_by_task(io)
    if moved.height:
        slowest = slowest.join(moved, on=["key", "worker"], how="left", maintain_order="left")
        columns += [
            Column("read_bytes", "read", "bytes",
                   doc="by executions of the task on that worker, as far as recorded"),
            Column("write_bytes", "written", "bytes"),
        ]  # fmt: skip
    return Table(
        "slowest",
        slowest.with_columns(start_s=pl.col("start") / 1e6),
        columns,
        title="Slowest tasks",
        note=None if tasks.height <= top else f"The {top} longest of {tasks.height:,} executions.",
    )


NOTES: Final = (
    "An execution: the scheduler saw it reach memory, or a worker recorded it. It counts once. Its "
    "duration is the scheduler's, else the worker's. Where only the scheduler recorded it, its "
    "start may be off by the difference of the clocks.",
    "File I/O: Darshan's counters have all bytes (counted). DXT records single operations with "
    "their times (traced). The rest is untraced, mostly buffered I/O (STDIO).",
    "Transfers: the sender, the receiver or both report them. Of each pair of workers the larger "
    "sum counts.",
    "`harvest dask-runs trace` writes all single events of the run for Perfetto.",
)


def _notes(repeated: int) -> Notes:
    left_out = count(repeated, "row is", "rows are")
    again = [f"{left_out} left out: another file of the run holds the same events."]
    return Notes("notes", [*(again if repeated else ()), *NOTES], title="How to read it")


def _clock(time: Any) -> str:
    return "?" if time is None else f"{time:%Y-%m-%d %H:%M:%S}"
