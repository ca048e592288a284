"""I/O of a run: what Darshan traced, what it counted, and which tasks did it."""

from typing import Final

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


def io_sections(
    data: DatasetReader, run: str, judged: JudgedRuns, tasks: pl.DataFrame, start: int
) -> list[Section]:
    """Build the sections: I/O by what is known, by process, over time, and by kind of task.

    tasks: executions; start: of the run, in microseconds of the epoch.
    """
    every, tied = judged.processes, judged.io
    logs = pl.DataFrame() if every is None else every.filter(pl.col("run") == run)
    mine = logs["log"].to_list() if logs.height else []
    rest = untraced(data).filter(pl.col("origin").is_in(mine))
    segments = segments_of(data, run)
    segments = None if segments is None else once(segments, "origin")
    traced = _traced(segments)
    segments = segments if traced.height else None
    rows = by_kind(tied, traced, rest, tasks)
    sections: list[Section] = []
    if mine:
        sections += [known_table(rows), _by_process(logs, rest, tied)]
    if segments is None:
        found = (
            "Darshan counted the I/O of this run, and did not trace it."
            if mine
            else "The dataset has no Darshan logs of this run. Harvest them with --source "
            "darshan:LOCATION."
        )
        how = "Run with DXT_ENABLE_IO_TRACE=1 to trace single operations."
        sections.append(Notes("io", [f"{found} {how}"], title="I/O over time"))
    else:
        over_time = io_plot(segments, start, _sizes(logs, "counted") if mine else {})
        sections += [over_time] if over_time is not None else []
    if traced.height or tied.height:
        sections.append(kinds_table(rows, _why(tied, segments, tasks)))
    return sections


def _traced(segments: pl.LazyFrame | None) -> pl.DataFrame:
    """Sum up the trace by op; no rows without one."""
    if segments is None:
        return pl.DataFrame(schema=TRACED)
    sums = segments.group_by("op").agg(
        operations=pl.len().cast(pl.Int64),
        bytes=known_sum(MOVED),
        seconds=exact_sum(pl.col("end_s") - pl.col("start_s")),
    )
    return sums.collect(engine="streaming")


def _sizes(logs: pl.DataFrame, kind: str) -> dict[str, int]:
    """Sum up the bytes of all processes by op, without an op of which none is known."""
    sums = {op: logs.select(known_sum(f"{kind}_{op}_bytes")).item() for op in OPS}
    return {op: size for op, size in sums.items() if size is not None}


def _by_process(logs: pl.DataFrame, rest: pl.DataFrame, tied: pl.DataFrame) -> Table:
    """Build the table of processes, by their logs; rest: their untraced I/O."""
    kinds = ("counted", "traced", "untraced", "stdio")
    per_op = pl.concat(
        logs.select(
            *("log", "pid", "exe", "partial_modules"),
            op=pl.lit(op),
            **{kind: pl.col(f"{kind}_{op}_bytes") for kind in kinds},
        )
        for op in OPS
    )
    spent = rest.group_by("op", log="origin").agg(
        untraced_s=(safe_sum("nanoseconds") / 1e9).round(9)
    )
    active = (
        per_op.filter(pl.any_horizontal(pl.col(kind) != 0 for kind in kinds))
        .join(spent, on=["log", "op"], how="left")
        .with_columns(pl.col("untraced_s").fill_null(0))
    )
    owners = tied.group_by("log").agg(worker=pl.col("worker").unique().sort().str.join(", "))
    rows = active.join(owners, on="log", how="left").with_columns(
        worker=pl.col("worker").str.replace_all(r"\w+://", ""),
        program=pl.col("exe").str.extract(r"^(?:\S*/)?(\S+)"),
    )
    known = rows["worker"].is_not_null().any()
    programs = rows["program"].drop_nulls().unique().to_list()
    owner = Column("worker", format="id", doc="the worker whose tasks its threads ran")
    return Table(
        "io-processes",
        rows.sort("op", "counted", "log", descending=[False, True, False]),
        (
            "op",
            *(["program"] if len(programs) > 1 else []),
            Column("pid", "process", None, "d", doc="its id, by the name of its log"),
            *([owner] if known else []),
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
        note=" ".join(_notes_on_processes(logs, active, programs, known=known)),
    )  # fmt: skip


def _notes_on_processes(
    logs: pl.DataFrame, active: pl.DataFrame, programs: list[str], *, known: bool
) -> list[str]:
    """Write the notes below the table of processes; active: those with I/O."""
    idle = logs.height - active["log"].n_unique()
    idle_ones = count_in_words(idle, "process", "processes")
    partial = logs.select("partial_modules", "pid").explode("partial_modules")
    ordered = partial.drop_nulls("partial_modules").sort(pl.all(), nulls_last=True)
    cut = [f"{module} of process {pid or 'unknown'}" for module, pid in ordered.iter_rows()]
    known_sizes = {op: bytes_in_words(size) for op, size in _sizes(logs, "stdio").items()}
    buffered = dict.fromkeys(OPS, "an unknown number of bytes") | known_sizes
    return [
        "Counted: bytes moved, by the counters of POSIX, of MPI-IO (files that POSIX does not "
        "count) and of STDIO.",
        f"Buffered I/O (STDIO) is never traced: {buffered['read']} of reads and "
        f"{buffered['write']} of writes.",
        *([f"All are processes of {programs[0]}."] if len(programs) == 1 else []),
        *([] if known else ["It is unknown which process is which worker."]),
        *([f"Not listed, without I/O: {idle_ones}."] if idle else []),
        *([f"Darshan's record is cut off: {', '.join(cut)}."] if cut else []),
    ]


def _why(tied: pl.DataFrame, segments: pl.LazyFrame | None, tasks: pl.DataFrame) -> str:
    """Explain why no operation is matched to a task; empty if one is."""
    if tied["key"].is_not_null().any() or segments is None:
        return ""
    none = "No operation belongs to a known task: "
    if not tasks["by_scheduler"].any():
        return (
            f"{none}only the scheduler records which thread ran a task, and "
            "scheduler_transition.csv is missing. "
        )
    if not segments.select(pl.col("thread").is_not_null().any()).collect().item():
        return f"{none}Darshan's logs do not name the threads (stock Darshan records none). "
    return f"{none}none is on a thread that the scheduler names for a task. "


def io_by_task(tied: pl.DataFrame) -> pl.DataFrame:
    """Sum up read_bytes and write_bytes by key and worker; tied: rows of ``dask.task_io``."""
    return (
        tied.drop_nulls("key")
        .group_by("key", "worker")
        .agg(
            sum_or_none(pl.col("bytes").filter(pl.col("op") == op)).alias(f"{op}_bytes")
            for op in OPS
        )
    )
