"""The view ``io.jobs``: the I/O of a job as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from harvest.toolkit.deferred import deferred

from .frames import TIME
from .grouping import KEY, logs_by_job
from .posix_files import by_file, nanoseconds, process_seconds

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["jobs", "layer_sums"]

JOBS: dict[str, pl.DataType] = {
    "run": pl.String(),
    "job": pl.Int64(),
    "began": TIME,
    "log": pl.String(),
    "program": pl.String(),
    "exe": pl.String(),
    "uid": pl.Int64(),
    "logs": pl.Int64(),
    "processes": pl.Int64(),
    "largest_log": pl.Int64(),
    "wall_s": pl.Float64(),
    "process_s": pl.Float64(),
    "io_s": pl.Float64(),
    "time_share": pl.Float64(),
    "meta_s": pl.Float64(),
    "meta_share": pl.Float64(),
    "bytes": pl.Int64(),
    "files": pl.Int64(),
    "reads": pl.Int64(),
    "writes": pl.Int64(),
    "read_bytes": pl.Int64(),
    "write_bytes": pl.Int64(),
    "misaligned_memory": pl.Int64(),
    "misaligned_file": pl.Int64(),
    "slowest_meta_s": pl.Float64(),
    "slowest_meta_file": pl.String(),
    "uses_mpiio": pl.Boolean(),
    "mpiio_bytes": pl.Int64(),
    "stdio_bytes": pl.Int64(),
    "stdio_requests": pl.Int64(),
    "stdio_s": pl.Float64(),
    "stdio_share": pl.Float64(),
    "partial_modules": pl.List(pl.String()),
    "unread_modules": pl.List(pl.String()),
    "gaps": pl.String(),
    "missing_counters": pl.Boolean(),
}

_COUNTS = (
    *("files", "reads", "writes", "read_bytes", "write_bytes"),
    *("misaligned_memory", "misaligned_file"),
)


def jobs(
    dataset: DatasetReader,
    *,
    run: str | None = None,
    job: int | None = None,
    per: str = "job",
) -> pl.LazyFrame:
    """One row per job: what its processes did through POSIX, MPI-IO and STDIO.

    A job is the logs of one directory, user and job id.  Where no scheduler gave an id, Darshan
    takes the process id, which differs from log to log: then a job is the logs of one directory
    and user whose times overlap, directly or through others, as those of a Dask run do.

    run: keeps one run (the directory of its logs, or the directory's name).
    job: keeps one job.
    per: job (default) or log: what a row stands for.
    """
    alone = per == "log"

    def compute() -> pl.DataFrame:
        logs = logs_by_job(dataset, run, job, per_log=alone)
        return _jobs(dataset, logs).sort("run", "began", "job", "log", nulls_last=True)

    return deferred(compute, JOBS)


def _jobs(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    found = _totals(logs)
    for part in (
        _posix(dataset, logs),
        _named(layer_sums(dataset, logs, "mpiio"), "mpiio"),
        _named(layer_sums(dataset, logs, "mpiio", alone=True), "upper"),
        _named(layer_sums(dataset, logs, "stdio"), "stdio"),
        _beyond_posix(dataset, logs),
    ):
        found = found.join(part, on=KEY, how="left", nulls_equal=True)
    layers = ("upper", "stdio")
    return (
        found.with_columns(pl.col(_NUMBERS).fill_null(0))
        .with_columns(
            bytes=pl.sum_horizontal("read_bytes", "write_bytes", *(f"{n}_bytes" for n in layers)),
            stdio_s=pl.sum_horizontal("stdio_seconds", "stdio_meta_s"),
            io_s=pl.sum_horizontal(*_TIMES, "stdio_seconds", "stdio_meta_s", "beyond_s"),
            meta_s=pl.sum_horizontal("meta_s", *(f"{n}_meta_s" for n in layers)),
        )
        .with_columns(
            pl.when(pl.col("process_s") > 0).then(pl.col(part) / pl.col("process_s")).alias(share)
            for part, share in (
                ("io_s", "time_share"), ("meta_s", "meta_share"), ("stdio_s", "stdio_share")
            )
        )
    )  # fmt: skip


def _named(sums: pl.DataFrame, layer: str) -> pl.DataFrame:
    """Sums of a layer under names of its own."""
    return sums.select(
        *KEY,
        pl.col("bytes", "requests", "meta_s").name.prefix(f"{layer}_"),
        (pl.col("read_s") + pl.col("write_s")).alias(f"{layer}_seconds"),
    )


def _beyond_posix(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    """Time in MPI-IO beyond that in POSIX, which it calls: waiting for other ranks, copying."""

    def spent(layer: str) -> pl.LazyFrame:
        timers = [f"{layer.upper()}_F_{what}_TIME" for what in ("READ", "WRITE", "META")]
        whole = pl.sum_horizontal(nanoseconds(timer) for timer in timers)
        records = dataset[f"darshan.{layer}"].select("origin", "record_id", spent=whole)
        return records.group_by("origin", "record_id").agg(pl.col("spent").sum())

    beyond = pl.col("spent") - pl.col("spent_below").fill_null(0)
    return (
        spent("mpiio")
        .join(spent("posix"), on=["origin", "record_id"], how="left", suffix="_below")
        .join(logs.select("origin", *KEY).lazy(), on="origin")
        .group_by(KEY)
        .agg(beyond_s=beyond.clip(lower_bound=0).sum() / 1e9)
        .collect(engine="streaming")
    )


_TIMES = ("read_s", "write_s", "meta_s")
_PARTS = ("bytes", "requests", "seconds", "meta_s")
_NUMBERS = (
    *_COUNTS,
    *_TIMES,
    *(f"{layer}_{part}" for layer in ("mpiio", "upper", "stdio") for part in _PARTS),
    "beyond_s",
)


def _totals(logs: pl.DataFrame) -> pl.DataFrame:
    """What the job records say."""
    first = pl.col("exe").sort_by("start_time", "origin").first()

    def modules(column: str) -> pl.Expr:
        return pl.col(column).explode().drop_nulls().unique().sort()

    ends = pl.col("end_time")
    wall = (ends.max() - pl.col("start_time").min()).dt.total_microseconds() / 1e6
    sums = logs.group_by(KEY).agg(
        exe=first,
        uid=pl.col("uid").first(),
        logs=pl.len(),
        largest_log=pl.col("nprocs").max(),
        wall_s=pl.when(ends.is_not_null().all()).then(wall),
        uses_mpiio=pl.col("modules").list.contains("MPI-IO").any(),
        partial_modules=modules("partial_modules"),
        unread_modules=modules("unread_modules"),
    )
    lacking = pl.concat_list("partial_modules", "unread_modules")
    return (
        sums.with_columns(
            gaps=_in_words("partial_modules", "cut off") + _in_words("unread_modules", "not read"),
            missing_counters=lacking.list.filter(~pl.element().str.starts_with("DXT")).list.len()
            > 0,
        )
        .with_columns(gaps=pl.col("gaps").str.strip_suffix("; ").replace("", None))
        .join(process_seconds(logs), on=KEY, how="left", nulls_equal=True)
        .rename({"nprocs": "processes"})
    )


def _in_words(modules: str, what: str) -> pl.Expr:
    """``POSIX, STDIO cut off; `` or nothing."""
    named = pl.format("{} {}; ", pl.col(modules).list.join(", "), pl.lit(what))
    return pl.when(pl.col(modules).list.len() > 0).then(named).otherwise(pl.lit(""))


def _posix(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    files = by_file(dataset, logs)
    slowest = pl.col("file").sort_by("slowest_meta_s", "file", descending=[True, False]).first()
    return (
        files.group_by(KEY)
        .agg(
            pl.col(*_COUNTS[1:], *_TIMES).sum(),
            pl.col("slowest_meta_s").max(),
            files=pl.len(),
            slowest_meta_file=slowest,
        )
        .collect(engine="streaming")
    )


def layer_sums(
    dataset: DatasetReader, logs: pl.DataFrame, layer: str, *, alone: bool = False
) -> pl.DataFrame:
    """Sums of a layer (posix, mpiio or stdio) by job: those of :data:`KEY`, and files, bytes,
    read_bytes, write_bytes, requests, read_s, write_s and meta_s.

    alone: without files that POSIX counts, too.
    """
    prefix = layer.upper()
    records = dataset[f"darshan.{layer}"].join(
        logs.select("origin", *KEY).lazy(), on="origin", how="inner"
    )
    if alone:
        below = dataset["darshan.posix"].select("origin", "record_id").unique()
        records = records.join(below, on=["origin", "record_id"], how="anti")
    kinds = [f"{kind}_" for kind in ("INDEP", "COLL", "SPLIT", "NB")] if layer == "mpiio" else [""]
    counts = [f"{prefix}_{kind}{verb}" for kind in kinds for verb in ("READS", "WRITES")]

    def seconds(what: str) -> pl.Expr:
        return nanoseconds(f"{prefix}_F_{what}_TIME").sum() / 1e9

    read, written = pl.col(f"{prefix}_BYTES_READ").sum(), pl.col(f"{prefix}_BYTES_WRITTEN").sum()
    return (
        records.group_by(KEY)
        .agg(
            files=pl.col("record_id").n_unique(),
            read_bytes=read,
            write_bytes=written,
            bytes=read + written,
            requests=pl.sum_horizontal(counts).sum(),
            read_s=seconds("READ"),
            write_s=seconds("WRITE"),
            meta_s=seconds("META"),
        )
        .collect(engine="streaming")
    )
