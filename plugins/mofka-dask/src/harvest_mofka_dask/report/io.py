"""Files read and written in a run: what Darshan traced, what it counted, and which tasks did it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
import polars as pl

from harvest import UsageError
from harvest.report import Column, Notes, Section, Table
from harvest.toolkit.amounts import bytes_in_words

from ..io.ties import runs_of_logs
from ..trace.view import segments_of
from ..views.runs import choose_runs
from .io_plot import io_over_time, io_plot

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["RunIo", "io_sections", "io_sentence", "run_io", "traced_by_task"]

PROCESSES: Final = "io.processes"
OTHER_THREADS: Final = "(other threads)"
NO_TASK: Final = "(in no task)"
OPS: Final = ("read", "write")


@attrs.frozen
class RunIo:
    """The I/O of a run.

    segments: the trace, each operation once; None where the dataset has none of this run.
    traced: the trace's sums by op: op, operations, bytes, seconds.
    tied: rows of ``dask.task_io``, each operation once.
    processes: rows of ``io.processes``; None where Darshan's logs of this run are not there.
    """

    segments: pl.LazyFrame | None
    traced: pl.DataFrame
    tied: pl.DataFrame
    processes: pl.DataFrame | None


def run_io(data: DatasetReader, run: str) -> RunIo:
    """What the dataset holds of a run's I/O."""
    segments = segments_of(data, run)
    if segments is None:
        none = pl.DataFrame(schema={"op": pl.String, "bytes": pl.Int64})
        return RunIo(None, none, none, _processes(data, run))
    posix = _posix_files(segments)
    once = _without_doubles(segments, posix, "origin")
    spent = ((pl.col("end_s") - pl.col("start_s")) * 1e9).round(0).cast(pl.Int64)
    traced = (
        once.group_by("op")
        .agg(
            operations=pl.len().cast(pl.Int64),
            bytes=pl.col("length").sum(),
            seconds=(spent.sum() / 1e9).round(9),
        )
        .collect(engine="streaming")
    )
    tied = _without_doubles(data.view("dask.task_io", run=run), posix, "log").collect()
    return RunIo(once if traced.height else None, traced, tied, _processes(data, run))


def _posix_files(segments: pl.LazyFrame) -> pl.LazyFrame:
    return (
        segments.filter(pl.col("module") == "DXT_POSIX")
        .select(log="origin", record_id="record_id")
        .unique()
        .collect(engine="streaming")
        .lazy()
    )


def _without_doubles(operations: pl.LazyFrame, posix: pl.LazyFrame, log: str) -> pl.LazyFrame:
    """Operations without those of MPI-IO on files that their log traces in POSIX, too."""
    lower = pl.col("module") == "DXT_POSIX"
    upper = operations.filter(~lower).join(
        posix, left_on=[log, "record_id"], right_on=["log", "record_id"], how="anti"
    )
    return pl.concat([operations.filter(lower), upper])


def _processes(data: DatasetReader, run: str) -> pl.DataFrame | None:
    if "darshan.job" not in data:
        return None
    try:
        found = data.view(PROCESSES).collect()
    except UsageError:  # the plugin that reads Darshan's logs is not installed or is disabled
        return None
    runs = choose_runs(data, None)
    if len(runs) > 1:
        logs = runs_of_logs(found.select(origin="log"), pl.DataFrame({"run": runs}))
        mine = logs.filter(pl.col("run") == run)
        found = found.join(mine, left_on="log", right_on="origin", how="semi")
    return found if found.height else None


def io_sentence(io: RunIo) -> str | None:
    """The totals in words; None where nothing is known of them."""
    if io.processes is None:
        return None
    sums = {
        f"{kind}_{op}": bytes_in_words(int(io.processes[f"{kind}_{op}_bytes"].sum()))
        for kind in ("counted", "traced")
        for op in OPS
    }
    return (
        f"Its processes read {sums['counted_read']} and wrote {sums['counted_write']}, by "
        f"Darshan's counters; traced are reads of {sums['traced_read']} and writes of "
        f"{sums['traced_write']}."
    )


def io_sections(io: RunIo, tasks: pl.DataFrame, start: int) -> list[Section]:
    """Processes, traced I/O over time, and traced I/O by kind of task, as far as they are known.

    tasks: executions; start: of the run, in microseconds of the epoch.
    """
    sections: list[Section] = [] if io.processes is None else [_by_process(io)]
    if io.segments is None:
        return [*sections, _no_trace_notes(counted=io.processes is not None)]
    over_time = io_over_time(io.segments, start)
    plots: list[Section] = [] if over_time.bins.is_empty() else [io_plot(over_time)]
    return [*sections, *plots, _by_prefix(io, tasks)]


def _no_trace_notes(*, counted: bool) -> Notes:
    how = "they hold a trace when the run had Darshan with extended tracing (DXT_ENABLE_IO_TRACE=1)"
    text = (
        f"Of this run the dataset has counts of reads and writes alone. Darshan's logs: {how}."
        if counted
        else f"No traced I/O of this run is in the dataset. Darshan's logs bring it: {how}; "
        "harvest them into the same dataset with --source darshan:LOCATION."
    )
    return Notes("io", [text], title="I/O over time")


def _by_process(io: RunIo) -> Table:
    assert io.processes is not None
    kinds = ("counted", "traced", "untraced", "stdio")
    per_op = pl.concat(
        io.processes.select(
            *("log", "pid", "exe", "partial_modules"),
            op=pl.lit(op),
            **{kind: pl.col(f"{kind}_{op}_bytes") for kind in kinds},
        )
        for op in OPS
    )
    active = per_op.filter(pl.any_horizontal(pl.col(kind) != 0 for kind in kinds))
    rows = active.join(_workers_of_logs(io), on="log", how="left").with_columns(
        program=pl.col("exe").str.extract(r"^(?:\S*/)?(\S+)")
    )
    idle = io.processes.height - active["log"].n_unique()
    cut = io.processes.explode("partial_modules").drop_nulls("partial_modules")
    known = rows["worker"].is_not_null().any()
    notes = [
        "Counted: what was moved, by the counters of POSIX, of MPI-IO for files that POSIX does "
        "not count, and of STDIO (buffered I/O), which neither of them sees.",
        f"Of them {_buffered_bytes(io, 'read')} of reads and {_buffered_bytes(io, 'write')} of "
        "writes are buffered, which is never traced.",
        *([] if known else ["Which process is which worker is not known."]),
        *([f"Processes without any I/O are not listed: {idle}."] if idle else []),
        *([f"Darshan's record is cut off: {_cut_modules(cut)}."] if cut.height else []),
    ]
    return Table(
        "io-processes",
        rows.sort("op", "counted", "log", descending=[False, True, False]),
        (
            Column("op"),
            Column("program"),
            Column("pid", "process", None, "d", doc="its id, as the name of its log has it"),
            *([Column("worker", doc="whose tasks its traced threads ran")] if known else []),
            Column("counted", unit="bytes"),
            Column("traced", unit="bytes", doc="what the operations that DXT traced asked for"),
            Column(
                "untraced", unit="bytes",
                doc="counted - traced; below 0 where operations got less than they asked for",
            ),
        ),
        title="I/O of processes",
        group="op",
        note=" ".join(notes),
    )  # fmt: skip


def _cut_modules(cut: pl.DataFrame) -> str:
    """Which modules ran out of memory, in which processes."""
    ordered = cut.sort("partial_modules", "pid", nulls_last=True)
    pairs = ordered.select("partial_modules", "pid").iter_rows()
    return ", ".join(f"{module} of process {pid or 'not known'}" for module, pid in pairs)


def _buffered_bytes(io: RunIo, op: str) -> str:
    assert io.processes is not None
    return bytes_in_words(int(io.processes[f"stdio_{op}_bytes"].sum()))


def _workers_of_logs(io: RunIo) -> pl.DataFrame:
    if "worker" not in io.tied.columns:
        return pl.DataFrame(schema={"log": pl.String, "worker": pl.String})
    return io.tied.group_by("log").agg(worker=pl.col("worker").unique().sort().str.join(", "))


def _by_prefix(io: RunIo, tasks: pl.DataFrame) -> Table:
    prefixes = tasks.select("key", "prefix").unique("key")
    found = io.tied.join(prefixes, on="key", how="left").with_columns(
        kind=pl.when(pl.col("key").is_null()).then(pl.lit(NO_TASK)).otherwise("prefix"),
        rank=pl.col("key").is_null().cast(pl.Int64),
    )
    sums = found.group_by("rank", "kind", "op").agg(
        pl.col("key").n_unique().cast(pl.Int64).alias("tasks"),
        pl.col("file").n_unique().cast(pl.Int64).alias("files"),
        operations=pl.col("count").sum(),
        bytes=pl.col("bytes").sum(),
        seconds=pl.col("seconds").sum(),
    )
    sums = sums.with_columns(tasks=pl.when(pl.col("rank") == 0).then("tasks"))
    measures = ("operations", "bytes", "seconds")
    taken = sums.group_by("op").agg(pl.col(name).sum().alias(f"{name}_taken") for name in measures)
    others = (
        io.traced.join(taken, on="op", how="left")
        .with_columns(
            [pl.col(name) - pl.col(f"{name}_taken").fill_null(0) for name in measures],
        )
        .filter(pl.col("operations") > 0)
        .select(
            pl.lit(2, pl.Int64).alias("rank"),
            pl.lit(OTHER_THREADS).alias("kind"),
            "op",
            *(pl.lit(None, pl.Int64).alias(name) for name in ("tasks", "files")),
            *("operations", "bytes", pl.col("seconds").clip(lower_bound=0)),
        )
    )
    rows = pl.concat([sums, others]).sort(
        "rank", "bytes", "kind", "op", descending=[False, True, False, False]
    )
    return Table(
        "io-by-prefix",
        rows.rename({"kind": "prefix"}),
        (
            Column("prefix"),
            Column("op"),
            Column("tasks"),
            Column("files"),
            Column("operations"),
            Column("bytes", unit="bytes", doc="what the operations asked for"),
            Column("seconds", "time", "s", ",.4f", doc="of all operations together"),
        ),
        title="Traced I/O of tasks",
        note=f"{_why(io, tasks)}All traced operations of the run; what is counted but not traced "
        f"is in no row. {NO_TASK}: on a thread that ran tasks, while it ran none that is recorded. "
        f"{OTHER_THREADS}: on threads and in processes that ran no task, as far as is recorded.",
    )


def _why(io: RunIo, tasks: pl.DataFrame) -> str:
    """Why no operation is tied to a task; nothing where one is."""
    if io.tied["key"].is_not_null().any():
        return ""
    assert io.segments is not None
    none = "No operation is known to be a task's: "
    if not tasks["by_scheduler"].any():
        return (
            f"{none}the scheduler alone records which thread ran a task, and its record of "
            "finished tasks (scheduler_transition.csv) is missing. "
        )
    threads = io.segments.select(pl.col("thread").is_not_null().any()).collect().item()
    if not threads:
        return (
            f"{none}Darshan's logs do not name the threads of operations, as stock Darshan "
            "records none. "
        )
    return f"{none}none of them is on a thread that the scheduler names for a task. "


def traced_by_task(io: RunIo) -> pl.DataFrame | None:
    """read_bytes and write_bytes by key and worker; None where no operation is tied to a task."""
    if "key" not in io.tied.columns or not io.tied["key"].is_not_null().any():
        return None
    return (
        io.tied.filter(pl.col("key").is_not_null())
        .group_by("key", "worker")
        .agg(pl.col("bytes").filter(pl.col("op") == op).sum().alias(f"{op}_bytes") for op in OPS)
    )
