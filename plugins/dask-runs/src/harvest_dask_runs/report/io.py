"""I/O of a run: what Darshan traced, what it counted, and which tasks did it."""

from typing import Final

import attrs
import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import bytes_in_words, count_in_words
from harvest_report import Column, Notes, Section, Table
from harvest_toolkit.frames import known_sum, safe_sum, sum_or_none

from ..frames import exact_sum
from ..io.counted import untraced
from ..io.match import MOVED
from ..trace.view import segments_of
from ..views.indicators import JudgedRuns
from ..views.task_io import once
from .io_parts import by_kind, io_plot, kinds_table, known_table

OPS: Final = ("read", "write")
TRACED: Final = {"op": pl.String, "operations": pl.Int64, "bytes": pl.Int64, "seconds": pl.Float64}


@attrs.frozen
class RunIo:
    """The I/O of a run.

    segments: the trace, each operation once; None if the dataset has none of this run.
    traced: sums of the trace by op: op, operations, bytes, seconds.
    tied: rows of ``dask.task_io``, each operation once: traced, and counted.
    processes: rows of ``io.processes``; None if Darshan's logs of this run are missing.
    sums: bytes of all processes by kind and op (``counted_read``), null if none is known.
    untraced: counted but untraced I/O, by log, file, module and op.
    """

    segments: pl.LazyFrame | None
    traced: pl.DataFrame
    tied: pl.DataFrame
    processes: pl.DataFrame | None
    sums: dict[str, int | None]
    untraced: pl.DataFrame


def run_io(data: DatasetReader, run: str, judged: JudgedRuns) -> RunIo:
    """Collect the I/O of a run."""
    counted = judged.processes
    mine = None if counted is None else counted.filter(pl.col("run") == run)
    mine = None if mine is None or mine.is_empty() else mine
    rest = untraced(data)
    logs = pl.DataFrame(schema={"log": pl.String}) if mine is None else mine.select("log")
    rest = rest.join(logs, left_on="origin", right_on="log", how="semi")
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
    return RunIo(segments if traced.height else None, traced, judged.io, mine, sums, rest)


def io_sections(io: RunIo, tasks: pl.DataFrame, start: int) -> list[Section]:
    """Build the sections: I/O by what is known, by process, over time, and by kind of task.

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
    found = (
        "Darshan counted the I/O of this run, and did not trace it."
        if counted
        else "The dataset has no Darshan logs of this run. Harvest them with --source "
        "darshan:LOCATION."
    )
    how = "Run with DXT_ENABLE_IO_TRACE=1 to trace single operations."
    return Notes("io", [f"{found} {how}"], title="I/O over time")


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
            Column("pid", "process", None, "d", doc="its id, by the name of its log"),
            *(
                [Column("worker", format="id", doc="the worker whose tasks its threads ran")]
                if known
                else []
            ),
            Column("counted", unit="bytes"),
            Column("traced", unit="bytes", doc="bytes that traced operations asked for"),
            Column(
                "untraced", unit="bytes",
                doc="counted - traced; below 0 where operations got fewer than they asked for",
            ),
            Column("untraced_s", "untraced time", "s", ",.3f", doc="in untraced operations"),
        ),
        title="I/O of processes",
        group="op",
        note=" ".join(_notes_on_processes(io, active, programs, known=known)),
    )  # fmt: skip


def _notes_on_processes(
    io: RunIo, active: pl.DataFrame, programs: list[str], *, known: bool
) -> list[str]:
    """Write the notes below the table of processes; active: those with I/O."""
    assert io.processes is not None
    idle = io.processes.height - active["log"].n_unique()
    cut = io.processes.explode("partial_modules").drop_nulls("partial_modules")
    unknown = "an unknown number of bytes"
    sizes = {op: io.sums[f"stdio_{op}"] for op in OPS}
    buffered = {op: unknown if n is None else bytes_in_words(n) for op, n in sizes.items()}
    return [
        "Counted: bytes moved, by the counters of POSIX, of MPI-IO (files that POSIX does not "
        "count) and of STDIO.",
        f"Buffered I/O (STDIO) is never traced: {buffered['read']} of reads and "
        f"{buffered['write']} of writes.",
        *([f"All are processes of {programs[0]}."] if len(programs) == 1 else []),
        *([] if known else ["It is unknown which process is which worker."]),
        *(
            [f"Not listed, without I/O: {count_in_words(idle, 'process', 'processes')}."]
            if idle
            else []
        ),
        *([f"Darshan's record is cut off: {_cut_modules(cut)}."] if cut.height else []),
    ]


def _cut_modules(cut: pl.DataFrame) -> str:
    ordered = cut.sort("partial_modules", "pid", nulls_last=True)
    pairs = ordered.select("partial_modules", "pid").iter_rows()
    return ", ".join(f"{module} of process {pid or 'unknown'}" for module, pid in pairs)


def _why(io: RunIo, tasks: pl.DataFrame) -> str:
    """Explain why no operation is matched to a task; empty if one is."""
    if io.tied["key"].is_not_null().any() or io.segments is None:
        return ""
    none = "No operation belongs to a known task: "
    if not tasks["by_scheduler"].any():
        return (
            f"{none}only the scheduler records which thread ran a task, and "
            "scheduler_transition.csv is missing. "
        )
    threads = io.segments.select(pl.col("thread").is_not_null().any()).collect().item()
    if not threads:
        return f"{none}Darshan's logs do not name the threads (stock Darshan records none). "
    return f"{none}none is on a thread that the scheduler names for a task. "


def io_by_task(io: RunIo) -> pl.DataFrame | None:
    """Sum up read_bytes and write_bytes by key and worker; None if no I/O has a known task."""
    known = io.tied.drop_nulls("key")
    if known.is_empty():
        return None
    return known.group_by("key", "worker").agg(
        sum_or_none(pl.col("bytes").filter(pl.col("op") == op)).alias(f"{op}_bytes") for op in OPS
    )
