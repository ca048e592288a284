"""Which process is which worker: by its process id, or by the threads that ran tasks.

A captured worker recorded its host and process id, and is only that process.  For others, the
scheduler names a worker's address and thread for each finished task; Darshan names host, process
and thread for each operation.  A thread id is an address in memory, so two processes may by chance
use the same one.  Then these decide, in this order: the number of thread ids that worker and
process share, whether the worker's address names the process's host, and how long the operations on
these threads ran during the tasks.  If all are equal, names decide.
"""

import polars as pl

from harvest import DatasetReader, UsageError
from harvest_toolkit.frames import directory_of, nearest_above
from harvest_toolkit.hosts import same_host

from ..frames import host_of, runs_of
from ..record_names import JOB, SEGMENT

TRACE: dict[str, pl.DataType] = {
    "record_id": pl.UInt64(),
    **dict.fromkeys(("module", "path", "hostname", "op", "origin"), pl.String()),
    **dict.fromkeys(("rank", "pid", "thread", "length"), pl.Int64()),
    **dict.fromkeys(("start_time", "end_time"), pl.Datetime("us", "UTC")),
    **dict.fromkeys(("start_s", "end_s"), pl.Float64()),
}
"""The columns of ``darshan.dxt_segment`` that are used here."""


def trace(dataset: DatasetReader) -> pl.LazyFrame:
    """Return the traced operations of a dataset; no rows if no plugin declares them."""
    if SEGMENT not in dataset:
        return pl.LazyFrame(schema=TRACE)
    return dataset[SEGMENT].select(list(TRACE))


def runs_of_logs(logs: pl.DataFrame, runs: list[str]) -> pl.DataFrame:
    """Find the run of each log (column origin): origin, run.

    It is the nearest directory above the log that is a run, so that logs may be in a subdirectory
    of it; else the log's own directory.
    """
    directory = directory_of(pl.col("origin"))
    run = pl.coalesce(nearest_above(directory, runs), directory)
    return logs.select("origin").unique().with_columns(run=run)


def processes(data: DatasetReader) -> pl.DataFrame | None:
    """Return the rows of ``io.processes`` with the Dask run as ``run``; None if there are none.

    A log belongs to the run in whose directory it is; if there is only one run, to that.
    """
    if JOB not in data:
        return None
    try:
        found = data.view("io.processes").collect()
    except UsageError:  # the plugin that reads Darshan's logs is not installed or is disabled
        return None
    runs = runs_of(data)
    if len(runs) == 1:
        found = found.with_columns(run=pl.lit(runs[0]))
    else:
        logs = runs_of_logs(found.select(origin="log"), runs)
        found = found.drop("run").join(logs, left_on="log", right_on="origin", how="left")
    return found if found.height else None


def processes_of(segments: pl.LazyFrame) -> pl.DataFrame:
    """List the threads of the trace: origin, rank, thread, hostname, pid, begin, end."""
    return (
        segments.group_by("origin", "rank", "thread")
        .agg(
            pl.col("hostname", "pid").min(),
            begin=pl.col("start_time").min(),
            end=pl.col("end_time").max(),
        )
        .collect(engine="streaming")
        .sort("origin", "rank", "thread")
    )


def ties(threads: pl.DataFrame, done: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Select the threads of the trace that ran tasks, each with its worker.

    threads: from ``processes_of``, with run.
    done: run, worker, thread, and first and last, from when until when it ran tasks.
    known: run, worker, host and pid of the workers that recorded them.

    Returns run, origin, rank, thread, hostname, pid, worker, by_pid (whether its process id
    identified the worker) and candidates (number of processes with a thread id of the worker).
    """
    # logs of one process are one candidate; without a process id, each log and rank is one
    process = pl.when(pl.col("pid").is_null()).then(
        pl.concat_str("origin", pl.lit("#"), "rank")
    ).otherwise(pl.concat_str(pl.col("hostname").fill_null(""), pl.lit(" "), "pid"))  # fmt: skip
    found = _possible(threads.with_columns(process=process).join(done, on=["run", "thread"]), known)
    together = pl.min_horizontal("end", "last") - pl.max_horizontal("begin", "first")
    host = host_of(pl.col("worker"))
    pairs = (
        found.group_by("run", "worker", "process")
        .agg(
            shared=pl.col("thread").n_unique(),
            at_home=same_host(host, pl.col("hostname")).fill_null(value=False).any(),
            beside=together.dt.total_microseconds().clip(lower_bound=0).sum(),
            by_pid=pl.col("by_pid").any(),
        )
        .sort(
            "shared", "at_home", "beside", "run", "worker", "process",
            descending=[True, True, True, False, False, False],
        )
        .with_row_index("order")
        .with_columns(candidates=pl.len().over("run", "worker").cast(pl.Int64))
    )  # fmt: skip
    best = pairs.group_by("run", "worker", maintain_order=True).first()
    return (
        found.drop("by_pid")
        .join(best.drop("shared", "at_home", "beside"), on=["run", "worker", "process"])
        .sort("order")
        .group_by("run", "origin", "rank", "thread", maintain_order=True)
        .first()
        .select(
            "run", "origin", "rank", "thread", "hostname", "pid", "worker", "candidates", "by_pid"
        )
        .sort("run", "worker", "thread", "hostname", "pid", "origin", "rank", nulls_last=True)
    )


def may_be_of(hostname: pl.Expr, host: pl.Expr) -> pl.Expr:
    """Return whether a process with this host name (null: not recorded) may be on the host."""
    return hostname.is_null() | same_host(hostname, host)


def _possible(found: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Drop pairs of thread and worker that process ids rule out; add by_pid."""
    numbered = found.with_row_index("pair")
    same = (
        numbered.select("pair", "run", "pid", "hostname", "worker")
        .join(known.rename({"worker": "owner"}), on=["run", "pid"])
        .filter(may_be_of(pl.col("hostname"), pl.col("host")))
        .group_by("pair")
        .agg(owned=(pl.col("owner") == pl.col("worker")).any())
    )
    recorded = known.select("run", "worker", recorded=pl.lit(value=True)).unique()
    return (
        numbered.join(same, on="pair", how="left")
        .join(recorded, on=["run", "worker"], how="left")
        .filter(pl.coalesce("owned", pl.col("recorded").is_null()))
        .with_columns(by_pid=pl.col("owned").is_not_null())
        .drop("pair", "owned", "recorded")
    )
