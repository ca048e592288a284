"""I/O that Darshan counted but did not trace, and its task if that is certain.

DXT traces POSIX and MPI-IO, and stops when its memory is used up; it never traces buffered I/O
(STDIO).  Counters cover all I/O: bytes, operations and time per file, and when the first operation
began and the last one ended.  Counters minus the trace belong to a task if the process executed
that task, and no other, from the first operation to the last.

Workers also use files for a task before they execute it, for example when its arguments open one.
So if only tasks of one kind ran in the process meanwhile, that kind is named, but no task.
"""

from typing import Final

import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import LONGEST_S
from harvest_toolkit.frames import complete_sum, kept, possible, whole_nanoseconds

from ..frames import runs_of
from ..record_names import JOB
from .lanes import FOREVER
from .match import Correlation
from .ties import may_be_of, runs_of_logs, trace

OPS: Final = (("read", "READS", "READ"), ("write", "WRITES", "WRITTEN"))
SKEW: Final = pl.duration(seconds=2)
"""Maximum error of the scheduler's times of an execution."""
MODULES: Final = {
    "darshan.posix": ("POSIX", ("",)),
    "darshan.mpiio": ("MPI-IO", ("INDEP_", "COLL_", "SPLIT_", "NB_")),
    "darshan.stdio": ("STDIO", ("",)),
}
"""Record types with counters: name of the module, and its kinds of calls."""

FILE: Final = ["origin", "record_id"]
UNTRACED: Final[dict[str, pl.DataType]] = {
    "record_id": pl.UInt64(),
    **dict.fromkeys(("origin", "module", "op", "path"), pl.String()),
    **dict.fromkeys(("rank", "count", "bytes", "nanoseconds", "first", "last"), pl.Int64()),
}


def untraced(dataset: DatasetReader) -> pl.DataFrame:
    """Compute counted but untraced I/O: one row per log, file, module and op with any.

    Bytes add up to counted minus traced bytes of ``io.processes``: they are below 0 where traced
    operations asked for more than they got.

    Columns: origin, record_id, path; rank: of the process, -1 if several used the file; module:
    POSIX, MPI-IO or STDIO; op; count, bytes, nanoseconds; first, last: start of the first and end
    of the last operation of this kind on the file, in microseconds of the epoch, null if unknown.
    """
    if JOB not in dataset:
        return pl.DataFrame(schema=UNTRACED)
    return kept(dataset, "dask.untraced", lambda: _untraced(dataset))


def _untraced(dataset: DatasetReader) -> pl.DataFrame:
    jobs = dataset[JOB].select(
        pl.col("origin").cast(pl.String), begun=pl.col("start_time").dt.epoch("us")
    )
    rest = pl.col("counted_count").fill_null(0) - pl.col("traced_count").fill_null(0)
    # null if the counter of bytes has an impossible value
    size = pl.when(pl.col("counted_count").is_null()).then(0).otherwise("counted_bytes")
    spent = pl.col("counted_ns").fill_null(0) - pl.col("traced_ns").fill_null(0)
    return (
        _counted(dataset)
        .join(_traced(dataset), on=[*FILE, "op", "traceable"], how="full", coalesce=True)
        .with_columns(
            count=rest.clip(lower_bound=0),
            bytes=size - pl.col("traced_bytes").fill_null(0),
            nanoseconds=pl.when(rest > 0).then(spent.clip(lower_bound=0)).otherwise(0),
        )
        .filter((pl.col("count") > 0) | pl.col("bytes").ne_missing(0))
        .join(jobs, on="origin", how="left")
        .select(
            *FILE,
            pl.coalesce("rank", "traced_rank").alias("rank"),
            pl.coalesce("module", "traced_module").alias("module"),
            "op",
            pl.coalesce("path", "traced_path").alias("path"),
            # null if the number does not fit 64 bits
            pl.col("count", "bytes", "nanoseconds").cast(pl.Int64, strict=False),
            *(
                (pl.col("begun") + (pl.col(name) * 1e6).round(0).cast(pl.Int64)).alias(name)
                for name in ("first", "last")
            ),
        )
        .sort(*FILE, "module", "op")
        .collect(engine="streaming")
    )


def _counted(dataset: DatasetReader) -> pl.LazyFrame:
    """Read counters by log, file, module and op; MPI-IO only for files that POSIX lacks."""
    found = {name: _module(dataset, name) for name in MODULES if name in dataset}
    if "darshan.posix" in found and "darshan.mpiio" in found:
        below = found["darshan.posix"].select(FILE).unique()
        found["darshan.mpiio"] = found["darshan.mpiio"].join(below, on=FILE, how="anti")
    empty = {
        **{name: UNTRACED[name] for name in (*FILE, "op", "path", "rank")},
        **dict.fromkeys(("counted_count", "counted_bytes", "counted_ns"), pl.Int128()),
        **dict.fromkeys(("first", "last"), pl.Float64()),
        "module": pl.String(),
        "traceable": pl.Boolean(),
    }
    return pl.concat([pl.LazyFrame(schema=empty), *found.values()])


def _module(dataset: DatasetReader, record_type: str) -> pl.LazyFrame:
    frame = dataset[record_type].with_columns(pl.col("origin").cast(pl.String))
    name, calls = MODULES[record_type]
    prefix = name.replace("-", "")

    def counters(op: str, verb: str, done: str) -> pl.LazyFrame:
        timed = f"{prefix}_F_{op.upper()}"
        start, end = pl.col(f"{timed}_START_TIMESTAMP"), pl.col(f"{timed}_END_TIMESTAMP")
        known = ((start > 0) & (end >= start) & (end < LONGEST_S)).fill_null(value=False)
        return frame.select(
            *(*FILE, "rank", "path"),
            count=pl.sum_horizontal(possible(f"{prefix}_{call}{verb}") for call in calls),
            bytes=possible(f"{prefix}_BYTES_{done}"),
            ns=whole_nanoseconds(f"{timed}_TIME").clip(lower_bound=0).fill_null(0),
            first=pl.when(known).then(start),
            last=pl.when(known).then(end),
        ).select(pl.all(), op=pl.lit(op))

    used = (pl.col("count") > 0) | pl.col("bytes").ne_missing(0)
    certain = pl.col("first").is_not_null().all()
    return (
        pl.concat([counters(*op) for op in OPS])
        .filter(used)
        .group_by(*FILE, "op")
        .agg(
            path=pl.col("path").max(),
            rank=_one_rank(),
            counted_count=pl.col("count").sum(),
            counted_bytes=complete_sum("bytes"),
            counted_ns=pl.col("ns").cast(pl.Int128).sum(),
            first=pl.when(certain).then(pl.col("first").min()),
            last=pl.when(certain).then(pl.col("last").max()),
        )
        .with_columns(module=pl.lit(name), traceable=pl.lit(name != "STDIO"))
    )


def _one_rank() -> pl.Expr:
    """Return the rank of all rows, or -1 if they differ."""
    rank = pl.col("rank")
    return pl.when(rank.n_unique() == 1).then(rank.first()).otherwise(-1).cast(pl.Int64)


def _traced(dataset: DatasetReader) -> pl.LazyFrame:
    """Sum up the trace by log, file and op; MPI-IO only for files that POSIX lacks."""
    lower = pl.col("module") == "DXT_POSIX"
    return (
        trace(dataset)
        .with_columns(pl.col("origin").cast(pl.String))
        .group_by(*FILE, "op", "module")
        .agg(
            traced_path=pl.col("path").max(),
            traced_rank=_one_rank(),
            traced_count=pl.len().cast(pl.Int64),
            traced_bytes=possible("length").sum(),
            traced_ns=whole_nanoseconds(pl.col("end_s") - pl.col("start_s")).cast(pl.Int128).sum(),
        )
        .filter(lower | ~lower.any().over(FILE))
        .with_columns(
            traceable=pl.lit(value=True),
            traced_module=pl.when(lower).then(pl.lit("POSIX")).otherwise(pl.lit("MPI-IO")),
        )
        .drop("module")
    )


def counted_io(dataset: DatasetReader, known: Correlation, found: pl.LazyFrame) -> pl.DataFrame:
    """Find the untraced I/O of workers' processes, and its task.

    found: executions.

    Columns: run, key (null: unknown), worker (null: a process of several), pid, host, file,
    module, op, count, bytes, seconds, first_time, last_time, record_id, log.  If the task is
    unknown, ``beside`` is the kind of the only tasks that ran meanwhile, and ``beside_key`` the
    task if it was one.
    """
    processes = _processes(dataset, known)
    mine = untraced(dataset).join(processes, on=["origin", "rank"]).with_row_index("place")
    ran = _executed(processes, found)
    owned = owners(mine.select("place", "process", "first", "last"), ran)
    moment = pl.from_epoch(pl.col("first", "last"), "us").dt.replace_time_zone("UTC")
    return (
        mine.join(owned, on="place", how="left", maintain_order="left")
        .with_columns(moment.name.suffix("_time"))
        .select(
            "run",
            "key",
            pl.coalesce("owner", "worker").alias("worker"),
            *("pid", "host"),
            pl.col("path").alias("file"),
            *("module", "op", "count", "bytes"),
            (pl.col("nanoseconds") / 1e9).round(9).alias("seconds"),
            *("first_time", "last_time", "record_id"),
            pl.col("origin").alias("log"),
            *("beside", "beside_key"),
        )
        .sort("run", "key", "log", "file", "module", "op", "record_id", nulls_last=True)
    )


def _processes(dataset: DatasetReader, known: Correlation) -> pl.DataFrame:
    """List workers' processes: origin, rank, process (a number), run, host, pid, worker, homes.

    homes: all workers in the process; worker: the only one, null if there are several.
    """
    by_thread = known.tied.select("origin", "rank", "run", "worker", host="hostname", pid="pid")
    by_pid = _by_process_id(dataset, known)
    return (
        pl.concat([by_thread, by_pid])
        .group_by("origin", "rank")
        .agg(
            pl.col("run", "host", "pid").drop_nulls().min(), homes=pl.col("worker").unique().sort()
        )
        .sort("origin", "rank")
        .with_columns(
            worker=pl.when(pl.col("homes").list.len() == 1).then(pl.col("homes").list.first()),
            process=pl.int_range(pl.len(), dtype=pl.Int64),
        )
    )


def _by_process_id(dataset: DatasetReader, known: Correlation) -> pl.DataFrame:
    """Find the logs of captured workers by host and process id; they may lack a trace."""
    logs = (
        dataset[JOB]
        .drop_nulls("pid")
        .select(pl.col("origin").cast(pl.String), "pid", "hostname")
        .collect()
    )
    return (
        logs.join(runs_of_logs(logs, runs_of(dataset)), on="origin")
        .join(known.captured, on=["run", "pid"])
        .filter(may_be_of(pl.col("hostname"), pl.col("host")))
        .select("origin", pl.lit(0, pl.Int64).alias("rank"), "run", "worker", "host", "pid")
    )


def _executed(processes: pl.DataFrame, found: pl.LazyFrame) -> pl.DataFrame:
    """Find executions in these processes: process, key, prefix, owner (worker), start, end, sure.

    sure: whether the worker recorded the times.  The scheduler's times are widened by SKEW.
    """
    homes = processes.select("process", "run", owner="homes").explode("owner")
    found = found.join(homes.lazy(), left_on=["run", "worker"], right_on=["run", "owner"])
    sure = pl.col("by_worker")
    start = pl.when(sure).then(pl.coalesce("opened", "start")).otherwise(pl.col("start") - SKEW)
    end = pl.when(sure).then(pl.coalesce("closed", "end")).otherwise(pl.col("end") + SKEW)
    return found.select(
        *("process", "key", "prefix"),
        owner="worker",
        start=start.dt.epoch("us"),
        end=end.dt.epoch("us").fill_null(FOREVER),
        sure=sure,
    ).collect()


def _overlaps(intervals: pl.DataFrame, ran: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Add ``ran`` to intervals: how many executions of the same ``by`` overlap, ends included.

    ``row``: number of the execution, or of the one that ends last of several.
    """
    order = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(by)
    longest = pl.col("end") == pl.col("end").cum_max().over(by)
    begun = (
        ran.sort("start", "end")
        .with_columns(
            begun=order,
            # of those begun, the one that ends last: if only one overlaps, it is that one
            row=pl.when(longest).then("row").forward_fill().over(by),
        )
        .select(*by, "start", "begun", "row")
    )
    over = ran.sort("end").with_columns(over=order).select(*by, "end", "over")
    return (
        intervals.sort("last")
        .join_asof(begun, left_on="last", right_on="start", by=by, strategy="backward",
                   check_sortedness=False)
        .sort("first")
        .join_asof(over, left_on="first", right_on="end", by=by, strategy="backward",
                   allow_exact_matches=False, check_sortedness=False)
        .with_columns(ran=pl.col("begun").fill_null(0) - pl.col("over").fill_null(0))
        .drop("begun", "over", "start", "end", strict=False)
    )  # fmt: skip


def owners(intervals: pl.DataFrame, ran: pl.DataFrame) -> pl.DataFrame:
    """Find who used the file in each interval: place, key, owner, ``beside``, beside_key.

    key, owner: the only task that ran in the process, during the whole interval, and its worker.
    ``beside``: if key is null and only tasks of one kind ran in the process meanwhile, that kind;
    beside_key: the task, if only one ran.

    intervals: place, process, first, last; ran: from ``_executed``.
    """
    timed = intervals.drop_nulls("first")
    numbered = ran.with_columns(row=pl.int_range(pl.len()))
    overlaps = _overlaps(timed, numbered, ["process"])
    alone = (
        overlaps.filter(pl.col("ran") == 1)
        .join(numbered.drop("process"), on="row")
        .filter("sure", pl.col("start") <= pl.col("first"), pl.col("end") >= pl.col("last"))
        .select("place", "key", "owner")
    )
    kinds = numbered.select("process", "prefix").unique()
    of_one_kind = (
        _overlaps(timed.join(kinds, on="process"), numbered, ["process", "prefix"])
        .filter(pl.col("ran") > 0)
        .join(overlaps.select("place", all="ran"), on="place")
        .filter(pl.col("ran") == pl.col("all"))
        .join(alone, on="place", how="anti")
        .join(numbered.select("row", only="key"), on="row", how="left")
        .select("place", beside="prefix", beside_key=pl.when(pl.col("ran") == 1).then("only"))
    )
    return alone.join(of_one_kind, on="place", how="full", coalesce=True)
