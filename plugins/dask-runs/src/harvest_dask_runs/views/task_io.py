"""I/O matched to tasks: bytes read and written, share of matched I/O, processes of workers."""

import polars as pl

from harvest import DatasetReader
from harvest.model.frames import types_of
from harvest_toolkit.frames import (
    complete_sum,
    deferred,
    first_text,
    fraction,
    safe_sum,
    sum_or_none,
    whole_nanoseconds,
)

from ..executions import executions
from ..frames import host_of, load, named_run
from ..io.counted import counted_io
from ..io.match import Correlation, correlate
from ..record_names import EXECUTED, JOB, SEGMENT
from .declared.io import COVERAGE_COLUMNS, PROCESS_COLUMNS, TASK_IO_COLUMNS
from .declared.tasks import TASK_COLUMNS

TASK_IO = types_of(TASK_IO_COLUMNS)

TOTALS = types_of(c for c in TASK_COLUMNS if c.name in ("run", "key") or c.name[:3] == "io_")


def task_io(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """Compute what each task read and wrote: one row per task, thread, file, module and op.

    Each traced operation (``darshan.dxt_segment``) on a thread that ran tasks is in exactly one
    row whose ``how`` is traced, so that their counts and bytes add up to those of the trace;
    ``io.match`` finds its task.  All other I/O of workers' processes, by Darshan's counters, is in
    rows that are counted; see ``io.counted``.
    """
    return io_of_tasks(dataset, run, executions(load(dataset, EXECUTED, run=run)))


def io_of_tasks(dataset: DatasetReader, run: str | None, found: pl.LazyFrame) -> pl.LazyFrame:
    """Compute the view from the executions of a run, or of all."""
    wanted = named_run(dataset, run)
    return deferred(lambda: _operations(dataset, correlate(dataset, wanted), found), TASK_IO)


def _operations(dataset: DatasetReader, known: Correlation, found: pl.LazyFrame) -> pl.DataFrame:
    traced = _traced(known)
    if JOB not in dataset:
        return traced
    counted = counted_io(dataset, known, found).with_columns(
        thread=pl.lit(None, pl.Int64), by_elimination=pl.lit(0, pl.Int64), how=pl.lit("counted")
    )
    return pl.concat([traced, counted.select(list(TASK_IO))])


def once(operations: pl.LazyFrame, log: str = "log") -> pl.LazyFrame:
    """Drop operations, or their sums, that count the same bytes as others.

    If a log traces a file in both DXT_POSIX and DXT_MPIIO, only the former counts.
    log: the column that names the log.
    """
    file, module = [log, "record_id"], pl.col("module")
    doubles = operations.filter(module == "DXT_POSIX").select(*file, module=pl.lit("DXT_MPIIO"))
    return operations.join(
        doubles.unique(), on=[*file, "module"], how="anti", nulls_equal=True, maintain_order="left"
    )


def _traced(known: Correlation) -> pl.DataFrame:
    threads = known.tied.select(
        "run", "worker", "thread", "pid", "slot", host="hostname", log="origin"
    )
    totals = (
        known.totals()
        .join(threads, on="slot")
        .sort("task", "slot", "path", "module", "op", "record_id", nulls_last=True)
    )
    return totals.select(
        "run",
        known.tasks["key"].gather(totals["task"]).alias("key"),
        *("worker", "thread", "pid", "host"),
        pl.col("path").alias("file"),
        *("module", "op", "count", "bytes", "seconds", "first_time", "last_time"),
        *("by_elimination", "record_id", "log"),
        how=pl.lit("traced"),
        beside=pl.lit(None, pl.String),
        beside_key=pl.lit(None, pl.String),
    )


def task_io_totals(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """Compute the I/O of each task, for ``dask.tasks``: run, key and the columns ``io_*``.

    A task that a worker with a known process executed has a row, with zeros if it did no I/O; the
    I/O of other tasks is unknown.
    """
    wanted = named_run(dataset, run)

    def compute() -> pl.DataFrame:
        if SEGMENT not in dataset and JOB not in dataset:
            return pl.DataFrame(schema=TOTALS)
        known = correlate(dataset, wanted)
        ran = executions(load(dataset, EXECUTED, run=wanted))
        found = _operations(dataset, known, ran)
        traced = found.filter(how="traced").drop_nulls("key")
        alone = _alone(found.filter(how="counted"))
        return _totals(known, traced).join(alone, on=["run", "key"], how="full", coalesce=True)

    return deferred(compute, TOTALS)


def _alone(counted: pl.DataFrame) -> pl.DataFrame:
    """Sum up the untraced I/O of tasks while no other task ran in their process."""
    size, op = pl.col("bytes"), pl.col("op")
    return (
        counted.with_columns(key=pl.coalesce("key", "beside_key"))
        .drop_nulls("key")
        .group_by("run", "key")
        .agg(
            io_alone_read_bytes=sum_or_none(size.filter(op == "read")),
            io_alone_write_bytes=sum_or_none(size.filter(op == "write")),
        )
    )


def _totals(known: Correlation, traced: pl.DataFrame) -> pl.DataFrame:
    size, op, one = pl.col("bytes"), pl.col("op"), ["run", "key", "worker"]
    sums = (
        once(traced.lazy())
        .group_by(one)
        .agg(
            io_read_bytes=sum_or_none(size.filter(op == "read")),
            io_write_bytes=sum_or_none(size.filter(op == "write")),
            io_operations=pl.col("count").sum(),
            io_seconds=safe_sum(whole_nanoseconds("seconds")),
            did=pl.lit(value=True),
        )
        .collect()
    )
    # a task that ran on several workers has several rows
    return (
        known.tasks.join(sums, on=one, how="left")
        .with_columns(pl.when("did").then(pl.col("^io_.*$")).otherwise(0).name.keep())
        .group_by("run", "key")
        .agg(complete_sum(pl.col("^io_.*$")))
        .with_columns((pl.col("io_seconds") / 1e9).round(9))
    )


def task_io_coverage(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """Compute how much traced I/O is matched to tasks: one row per process (log and rank)."""
    known, one = correlate(dataset, named_run(dataset, run)), ["origin", "rank"]
    named = known.threads.group_by(one).agg(pl.col("run", "hostname", "pid").min())
    workers = known.tied.group_by(one).agg(worker=pl.col("worker").unique().sort().str.join(", "))
    return (
        known.coverage()
        .join(named, on=one)
        .join(workers, on=one, how="left")
        .with_columns(
            share=fraction("window_segments", "task_segments"),
            bytes_share=fraction("window_bytes", "task_bytes"),
        )
        .rename({"hostname": "host", "origin": "log"})
        .sort("run", "host", "pid", "log", "rank", nulls_last=True)
        .select(column.name for column in COVERAGE_COLUMNS)
        .lazy()
    )


def workers_processes(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """Find the process of each worker: one row per worker and log.

    A worker whose process is unknown has one row with nulls.
    """
    known, one = correlate(dataset, named_run(dataset, run)), ["run", "worker"]
    processes = known.tied.group_by(*one, "hostname", "pid", "origin").agg(
        threads=pl.col("thread").unique().sort(),
        candidates=pl.col("candidates").max(),
        by_pid=pl.col("by_pid").any(),
    )
    several = pl.col("candidates") > 1
    return (
        known.workers.join(processes, on=one, how="left")
        .with_columns(
            address_host=host_of(pl.col("worker")),
            tied_by=first_text(
                (pl.col("by_pid"), "process id"), (several, "best of several"), (~several, "thread")
            ),
        )
        .rename({"hostname": "host", "origin": "log"})
        .sort("run", "worker", "host", "pid", "log", nulls_last=True)
        .select(column.name for column in PROCESS_COLUMNS)
        .lazy()
    )
