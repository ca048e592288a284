"""The report ``dask.run``: one run on one page."""

from __future__ import annotations

from typing import Any

import polars as pl

from harvest import DatasetReader, UsageError
from harvest.report import Column, Notes, Report, Section, Table

from .executions import EXECUTION_TYPES, executions
from .report_figures import bytes_in_words
from .report_moves import io_over_time, io_plot, matrix, pairs_of, pairs_table
from .report_stream import occupancy, stream
from .runs import choose_run
from .trace_io import SEGMENT
from .trace_tasks import place_tasks
from .trace_tracks import microseconds_since
from .views_frames import Frames, load

__all__ = ["dask_run"]

TYPES = (*EXECUTION_TYPES, "dask.transfer")


def dask_run(data: DatasetReader, run: str | None = None, top: int | str = 20) -> Report:
    """The report over one run.

    run: its directory, or the directory's name; needed where the dataset holds several.
    top: how many of the slowest tasks and of the largest transfers are listed.

    Raises UsageError when a run is to be chosen, or top is no number above 0.
    """
    listed = _number(top)
    name = choose_run(data, run, "--set run=NAME")
    frames = load(data, TYPES, run=name)
    (summary,) = data.view("dask.run_summary", run=name).collect().to_dicts()
    workers = data.view("dask.workers", run=name).collect()
    start = _micros(summary["first_time"])
    found = executions(frames).collect()
    tasks = _timed(place_tasks(found, summary["last_time"]), start)
    kinds = _by_prefix(tasks)
    pairs = pairs_of(frames["dask.transfer"])
    return Report(
        f"Dask run {name.rpartition('/')[2]}",
        intro=_intro(summary, tasks, pairs),
        sections=[
            _lacks(summary, found.height - tasks.height),
            *_streams(tasks, kinds, workers),
            _prefixes(kinds),
            _workers(workers, summary),
            _states(frames),
            *([matrix(pairs), pairs_table(pairs, listed)] if pairs.height else [_no_transfers()]),
            *_io(data, name, start, tasks),
            _slowest(data, name, tasks, listed),
            _notes(),
        ],
    )


def _timed(placed: pl.DataFrame, start: int) -> pl.DataFrame:
    """With start and end in microseconds of the run, and seconds as measured."""
    timed = placed.with_columns(microseconds_since(start, pl.col("start", "end")))
    return timed.with_columns(
        seconds=pl.coalesce("duration_s", (pl.col("end") - pl.col("start")) / 1e6)
    )


def _intro(summary: dict[str, Any], tasks: pl.DataFrame, pairs: pl.DataFrame) -> list[str]:
    hosts = {node["role"]: node["hosts"] for node in summary["nodes"]}
    on = f" on {_count(hosts['worker'], 'node')}" if hosts.get("worker") else ""
    moved = int(pairs["bytes"].sum() or 0)
    parts = [
        f"{_count(summary['tasks'], 'task')} in {_count(tasks.height, 'execution')}, "
        f"{_count(summary['workers'], 'worker')}{on}, from {_clock(summary['first_time'])} to "
        f"{_clock(summary['last_time'])} UTC: {summary['wall_s'] or 0:,.1f} s. Executing took "
        f"{tasks['seconds'].sum():,.1f} thread-seconds, and {bytes_in_words(moved)} moved between "
        "workers and to clients.",
    ]
    troubles = [
        _count(summary[what], word)
        for what, word in (
            ("erred_tasks", "task that erred|tasks that erred"),
            ("unfinished_tasks", "task left unfinished|tasks left unfinished"),
        )
        if summary[what]
    ]
    if troubles:
        parts.append(f"There {'is' if troubles[0].startswith('1 ') else 'are'} "
                     f"{' and '.join(troubles)}.")  # fmt: skip
    return parts


def _lacks(summary: dict[str, Any], untimed: int) -> Notes:
    items = list(summary["completeness_notes"])
    if untimed:
        items.append(f"{_count(untimed, 'execution')} without any time cannot be shown")
    return Notes(
        "completeness",
        [f"{item[0].upper()}{item[1:]}." for item in items]
        or ["Nothing: all registered workers reported, and no event is known to be lost."],
        title="What the record lacks",
    )


def _streams(tasks: pl.DataFrame, kinds: pl.DataFrame, workers: pl.DataFrame) -> list[Section]:
    if tasks.is_empty():
        return [Notes("stream", ["The record tells of no execution."], title="Task stream")]
    threads = tasks.group_by("worker").agg(pl.col("thread").n_unique())["thread"].max()
    names = workers["worker"].to_list()
    return [
        stream(tasks, kinds["prefix"].to_list()),
        occupancy(tasks, names, int(threads or 1)),  # type: ignore[arg-type]
    ]


def _by_prefix(tasks: pl.DataFrame) -> pl.DataFrame:
    seconds = pl.col("seconds")
    return (
        tasks.group_by("prefix")
        .agg(
            executions=pl.len().cast(pl.Int64),
            tasks=pl.col("key").n_unique().cast(pl.Int64),
            total_s=seconds.sum(),
            mean_s=seconds.mean(),
            median_s=seconds.median(),
            max_s=seconds.max(),
            size_bytes=pl.col("size_bytes").sum(),
        )
        .with_columns(share=pl.col("total_s") / pl.col("total_s").sum())
        .sort("total_s", "prefix", descending=[True, False], nulls_last=True)
    )


def _prefixes(kinds: pl.DataFrame) -> Table:
    return Table(
        "prefixes",
        kinds,
        (
            Column("prefix", doc="what tasks of one kind have in common in their keys"),
            Column("tasks"),
            Column("executions"),
            Column("total_s", "total", "s"),
            Column("share", "share", None, ".1%", doc="of the time of all executions"),
            Column("mean_s", "mean", "s"),
            Column("median_s", "median", "s"),
            Column("max_s", "longest", "s"),
            Column("size_bytes", "results", "bytes", doc="sizes of all results together"),
        ),
        title="Kinds of tasks",
    )


def _workers(workers: pl.DataFrame, summary: dict[str, Any]) -> Table:
    wall = summary["wall_s"] or 0.0
    share = pl.col("occupied_s") / wall if wall else pl.lit(None, pl.Float64)
    return Table(
        "workers",
        workers.with_columns(share=share, threads=pl.col("threads").list.len().cast(pl.Int64)),
        (
            Column("worker"),
            Column("executed", doc="executions that the scheduler credits to it"),
            Column("threads", doc="that ran them"),
            Column("busy_s", "busy", "s", ",.2f", doc="durations of its executions together"),
            Column(
                "share", "occupied", None, ".1%",
                doc="part of the run in which at least one of its threads was executing",
            ),
            Column("bytes_received", "received", "bytes"),
            Column("bytes_sent", "sent", "bytes"),
            Column("reported", doc="whether it told anything itself; silence is not idleness"),
        ),
        title="Workers",
    )  # fmt: skip


def _states(frames: Frames) -> Table:
    told = {
        "scheduler": (frames["dask.task_transition"], ["key"]),
        "workers": (frames["dask.worker_transition"], ["worker", "key"]),
    }
    tables = []
    for by, (transitions, one) in told.items():
        entered = transitions.select(*one, "time", "position", state="finish_state").sort(
            "time", "position"
        )
        spent = (pl.col("time").shift(-1).over(one) - pl.col("time")).dt.total_microseconds() / 1e6
        tables.append(
            entered.with_columns(seconds=spent)
            .group_by("state")
            .agg(
                tasks=pl.col("key").n_unique().cast(pl.Int64),
                entered=pl.len().cast(pl.Int64),
                total_s=pl.col("seconds").sum(),
                mean_s=pl.col("seconds").mean(),
                max_s=pl.col("seconds").max(),
            )
            .sort("total_s", "state", descending=[True, False])
            .select(pl.lit(by).alias("told_by"), pl.all())
        )
    return Table(
        "states",
        pl.concat(pl.collect_all(tables)),
        (
            Column("told_by", "told by"),
            Column("state"),
            Column("tasks"),
            Column("entered", doc="how often a task came into the state"),
            Column("total_s", "total", "s", doc="over all tasks, until each left the state"),
            Column("mean_s", "mean", "s"),
            Column("max_s", "longest", "s"),
        ),
        title="Time in states",
        group="told_by",
        note="The state in which a task was last seen counts no time.",
    )


def _no_transfers() -> Notes:
    return Notes("transfers", ["The record tells of no transfer."], title="Transfers")


def _io(data: DatasetReader, run: str, start: int, tasks: pl.DataFrame) -> list[Section]:
    from .trace import segments_of

    segments = segments_of(data, run)
    bins, width = (None, 0) if segments is None else io_over_time(segments, start)
    if bins is None or bins.is_empty():
        return [
            Notes(
                "io",
                [
                    "No traced I/O of this run is in the dataset. Darshan's logs bring it: they "
                    "hold it when the run had Darshan with extended tracing "
                    "(DXT_ENABLE_IO_TRACE=1); harvest them into the same dataset with "
                    "--source darshan:LOCATION."
                ],
                title="I/O over time",
            )
        ]
    prefixes = tasks.select("key", "prefix").unique("key")
    found = (
        data.view("dask.task_io", run=run)
        .join(prefixes.lazy(), on="key", how="left")
        .group_by("prefix", "op", tied=pl.col("key").is_not_null())
        .agg(
            operations=pl.col("count").sum(),
            bytes=pl.col("bytes").sum(),
            seconds=pl.col("seconds").sum(),
            files=pl.col("file").n_unique().cast(pl.Int64),
            tasks=pl.col("key").n_unique().cast(pl.Int64),
        )
        .sort("tied", "bytes", "prefix", "op", descending=[True, True, False, False])
        .with_columns(pl.when("tied").then(pl.coalesce("prefix", pl.lit("(unknown prefix)")))
                      .otherwise(pl.lit("(in no task)")).alias("prefix"))
        .collect()
    )  # fmt: skip
    return [
        io_plot(bins, width),
        Table(
            "io-by-prefix",
            found,
            (
                Column("prefix"),
                Column("op"),
                Column("tasks"),
                Column("files"),
                Column("operations"),
                Column("bytes", unit="bytes"),
                Column("seconds", "time", "s", ",.4f", doc="of all operations together"),
            ),
            title="I/O of tasks",
            note="Operations on threads that ran tasks; the plot above holds those of all threads "
            "and processes.",
        ),
    ]


def _slowest(data: DatasetReader, run: str, tasks: pl.DataFrame, top: int) -> Table:
    slowest = tasks.sort("seconds", "key", descending=[True, False], nulls_last=True).head(top)
    columns = [
        Column("key"),
        Column("worker"),
        Column("start_s", "start", "s", ",.3f", doc="since the first event of the run"),
        Column("seconds", "duration", "s"),
        Column("size_bytes", "result", "bytes"),
    ]
    if SEGMENT in data:
        wanted = slowest.select("key", "worker").unique()
        done = (
            data.view("dask.task_io", run=run)
            .join(wanted.lazy(), on=["key", "worker"], how="semi")
            .group_by("key", "worker")
            .agg(
                pl.col("bytes").filter(pl.col("op") == op).sum().alias(f"{op}_bytes")
                for op in ("read", "write")
            )
            .collect()
        )
        slowest = slowest.join(done, on=["key", "worker"], how="left", maintain_order="left")
        columns += [
            Column("read_bytes", "read", "bytes", doc="I/O of all its executions on that worker"),
            Column("write_bytes", "written", "bytes"),
        ]
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
            "An execution is shown where the worker itself says that it was executing; where the "
            "worker told nothing, at begins and ends as the scheduler has them, which may be off "
            "by the clocks' difference. Durations are those that the worker measured.",
            "Transfers are told by the side that sends and the side that receives, or by one of "
            "them; of each pair of workers the larger account counts.",
            "`harvest mofka-dask trace` writes the same run as a timeline to zoom into.",
        ],
        title="How to read it",
    )


def _number(text: int | str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise UsageError(f"top={text!r} is no number above 0", remedy="write top=20")
    return number


def _count(number: int, word: str) -> str:
    """``1 task``, ``2,000 tasks``; word: the singular, or singular|plural."""
    one, _, many = word.partition("|")
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _clock(time: Any) -> str:
    return "?" if time is None else f"{time:%Y-%m-%d %H:%M:%S}"


def _micros(time: Any) -> int:
    return 0 if time is None else round(time.timestamp() * 1_000_000)
