"""Files read and written in a run: what Darshan traced, what it counted, and which tasks did it."""

from __future__ import annotations

from typing import Final

import attrs
import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import bytes_in_words, share_in_words
from harvest_report import Column, Notes, Section, Table
from harvest_toolkit.frames import known_sum, safe_sum, sum_or_none

from ..frames import exact_sum
from ..io.counted import untraced
from ..io.match import MOVED
from ..io.ties import processes
from ..trace.view import segments_of
from ..views.task_io import once
from .io_parts import by_kind, io_plot, kinds_table, known_table

OPS: Final = ("read", "write")
TRACED: Final = {
    "op": pl.String,
    "operations": pl.Int64,
    "bytes": pl.Int64,
    "seconds": pl.Float64,
}


@attrs.frozen
class RunIo:
    """The I/O of a run.

    segments: the trace, each operation once; None where the dataset has none of this run.
    traced: the trace's sums by op: op, operations, bytes, seconds.
    tied: rows of ``dask.task_io``, each operation once: traced, and counted.
    processes: rows of ``io.processes``; None where Darshan's logs of this run are not there.
    sums: bytes of all processes by kind and op (``counted_read``), null where none is known.
    untraced: what is counted and not traced, by log, file, module and op.
    """

    segments: pl.LazyFrame | None
    traced: pl.DataFrame
    tied: pl.DataFrame
    processes: pl.DataFrame | None
    sums: dict[str, int | None]
    untraced: pl.DataFrame


def run_io(data: DatasetReader, run: str) -> RunIo:
    """What the dataset holds of a run's I/O."""
    counted = processes(data)
    mine = None if counted is None else counted.filter(pl.col("run") == run)
    mine = None if mine is None or mine.is_empty() else mine
    rest = untraced(data)
    logs = pl.DataFrame(schema={"log": pl.String}) if mine is None else mine.select("log")
    rest = rest.join(logs, left_on="origin", right_on="log", how="semi")
    tied = once(data.view("dask.task_io", run=run)).collect()
    segments = segments_of(data, run)
    traced = pl.DataFrame(schema=TRACED)
    if segments is not None:
        segments = once(segments, "origin")
        traced = (
            segments.group_by("op")
            .agg(
                operations=pl.len().cast(pl.Int64),
                bytes=known_sum(MOVED),
                seconds=exact_sum(pl.col("end_s") - pl.col("start_s")),
            )
            .collect(engine="streaming")
        )
    names = [f"{kind}_{op}" for kind in ("counted", "traced", "stdio") for op in OPS]
    known = {name: known_sum(f"{name}_bytes") for name in names}
    sums = {} if mine is None else mine.select(**known).row(0, named=True)
    return RunIo(segments if traced.height else None, traced, tied, mine, sums, rest)


def io_sentence(io: RunIo) -> str | None:
    """The totals in words; None where nothing is known of them."""
    if io.processes is None:
        return None
    sums = io.sums
    words = {name: _bytes_in_words(size) for name, size in sums.items()}
    return (
        f"Its processes read {words['counted_read']} and wrote {words['counted_write']}, by "
        f"Darshan's counters; traced are reads of {words['traced_read']}"
        f"{_part(sums['traced_read'], sums['counted_read'])} and writes of "
        f"{words['traced_write']}{_part(sums['traced_write'], sums['counted_write'])}."
    )


def _bytes_in_words(size: int | None) -> str:
    return "a number of bytes that is not known" if size is None else bytes_in_words(size)


def _part(part: int | None, whole: int | None) -> str:
    """What share of all it is; nothing where it is all, or there is nothing."""
    if part is None or whole is None or not 0 < part < whole:
        return ""
    return f" ({share_in_words(part / whole)})"


def io_sections(io: RunIo, tasks: pl.DataFrame, start: int) -> list[Section]:
    """What is known of I/O, its processes, the trace over time, and I/O by kind of task.

    tasks: executions; start: of the run, in microseconds of the epoch.
    """
    rows = by_kind(io.tied, io.traced, io.untraced, tasks)
    sections: list[Section] = []
    if io.processes is not None:
        sections += [known_table(rows), _by_process(io)]
    if io.segments is None:
        sections.append(_no_trace_notes(counted=io.processes is not None))
    else:
        counted = {op: size for op in OPS if (size := io.sums.get(f"counted_{op}")) is not None}
        over_time = io_plot(io.segments, start, counted)
        sections += [over_time] if over_time is not None else []
    if io.segments is not None or io.tied.height:
        sections.append(kinds_table(rows, _why(io, tasks)))
    return sections


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
    spent = io.untraced.group_by("op", log="origin").agg(
        untraced_s=(safe_sum("nanoseconds") / 1e9).round(9)
    )
    active = (
        per_op.filter(pl.any_horizontal(pl.col(kind) != 0 for kind in kinds))
        .join(spent, on=["log", "op"], how="left")
        .with_columns(pl.col("untraced_s").fill_null(0))
    )
    owners = io.tied.group_by("log").agg(worker=pl.col("worker").unique().sort().str.join(", "))
    rows = active.join(owners, on="log", how="left").with_columns(
        worker=pl.col("worker").str.replace_all(r"\w+://", ""),
        program=pl.col("exe").str.extract(r"^(?:\S*/)?(\S+)"),
    )
    known = rows["worker"].is_not_null().any()
    programs = rows["program"].drop_nulls().unique().to_list()
    return Table(
        "io-processes",
        rows.sort("op", "counted", "log", descending=[False, True, False]),
        (
            "op",
            *(["program"] if len(programs) > 1 else []),
            Column("pid", "process", None, "d", doc="its id, as the name of its log has it"),
            *(
                [Column("worker", format="id", doc="whose tasks its traced threads ran")]
                if known
                else []
            ),
            Column("counted", unit="bytes"),
            Column("traced", unit="bytes", doc="what the operations that DXT traced asked for"),
            Column(
                "untraced", unit="bytes",
                doc="counted - traced; below 0 where operations got less than they asked for",
            ),
            Column("untraced_s", "their time", "s", ",.3f", doc="in operations not traced"),
        ),
        title="I/O of processes",
        group="op",
        note=" ".join(_notes_on_processes(io, active, programs, known=known)),
    )  # fmt: skip


def _notes_on_processes(
    io: RunIo, active: pl.DataFrame, programs: list[str], *, known: bool
) -> list[str]:
    """What the table of processes cannot say in its rows; active: those with I/O."""
    assert io.processes is not None
    idle = io.processes.height - active["log"].n_unique()
    cut = io.processes.explode("partial_modules").drop_nulls("partial_modules")
    buffered = {op: _bytes_in_words(io.sums[f"stdio_{op}"]) for op in OPS}
    return [
        "Counted: what was moved, by the counters of POSIX, of MPI-IO for files that POSIX does "
        "not count, and of STDIO (buffered I/O), which neither of them sees.",
        f"Of them {buffered['read']} of reads and {buffered['write']} of writes are buffered, "
        "which is never traced.",
        *([f"All are processes of {programs[0]}."] if len(programs) == 1 else []),
        *([] if known else ["Which process is which worker is not known."]),
        *([f"Processes without any I/O are not listed: {idle}."] if idle else []),
        *([f"Darshan's record is cut off: {_cut_modules(cut)}."] if cut.height else []),
    ]


def _cut_modules(cut: pl.DataFrame) -> str:
    """Which modules ran out of memory, in which processes."""
    ordered = cut.sort("partial_modules", "pid", nulls_last=True)
    pairs = ordered.select("partial_modules", "pid").iter_rows()
    return ", ".join(f"{module} of process {pid or 'not known'}" for module, pid in pairs)


def _why(io: RunIo, tasks: pl.DataFrame) -> str:
    """Why no operation is tied to a task; nothing where one is."""
    if io.tied["key"].is_not_null().any() or io.segments is None:
        return ""
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


def io_by_task(io: RunIo) -> pl.DataFrame | None:
    """read_bytes and write_bytes by key and worker; None where nothing is known to be a task's."""
    known = io.tied.drop_nulls("key")
    if known.is_empty():
        return None
    return known.group_by("key", "worker").agg(
        sum_or_none(pl.col("bytes").filter(pl.col("op") == op)).alias(f"{op}_bytes") for op in OPS
    )
