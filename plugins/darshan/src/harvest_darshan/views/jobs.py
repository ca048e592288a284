"""The view ``io.jobs``: the I/O of a job as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from harvest_toolkit.deferred import deferred

from .frames import TIME
from .grouping import KEY, certainty, layer_states, logs_by_job, named_run
from .layers import FILE, LAYERS, UNSUMMED, counted_records, known_part, sum_of, total_of
from .posix_files import ALIGNMENTS, by_file, process_seconds, share_of

if TYPE_CHECKING:
    from harvest import DatasetReader

    from .layers import Counted

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
    "requests": pl.Int64(),
    "files": pl.Int64(),
    "reads": pl.Int64(),
    "writes": pl.Int64(),
    "read_bytes": pl.Int64(),
    "write_bytes": pl.Int64(),
    **{name: pl.Int64() for name in ALIGNMENTS},
    "posix_s": pl.Float64(),
    "posix_share": pl.Float64(),
    "slowest_meta_s": pl.Float64(),
    "slowest_meta_file": pl.String(),
    "has_counters": pl.Boolean(),
    "uses_posix": pl.Boolean(),
    "uses_mpiio": pl.Boolean(),
    "uses_stdio": pl.Boolean(),
    "mpiio_bytes": pl.Int64(),
    "stdio_bytes": pl.Int64(),
    "stdio_requests": pl.Int64(),
    "stdio_s": pl.Float64(),
    "stdio_share": pl.Float64(),
    "partial_modules": pl.List(pl.String()),
    "unread_modules": pl.List(pl.String()),
    "gaps": pl.String(),
    "missing_counters": pl.Boolean(),
    "unsummed_modules": pl.List(pl.String()),
    "copies": pl.Int64(),
    "certainty": pl.List(pl.String()),
}

_COUNTS = ("reads", "writes", "read_bytes", "write_bytes")
_TIMES = ("read_s", "write_s", "meta_s")


def jobs(
    dataset: DatasetReader,
    *,
    run: str | None = None,
    job: int | None = None,
    per: str = "job",
) -> pl.LazyFrame:
    """One row per job: what its processes did through the layers that its logs count.

    A job is the logs of one directory, user and job id.  Where no scheduler gave an id, Darshan
    takes the process id, which differs from log to log: then a job is the logs of one directory
    and user whose times overlap, directly or through others, as those of a Dask run do.

    run: keeps one run (the directory of its logs, or the directory's name).
    job: keeps one job.
    per: job (default) or log: what a row stands for.
    """
    wanted, alone = named_run(dataset, run, job), per == "log"

    def compute() -> pl.DataFrame:
        logs = logs_by_job(dataset, wanted, job, per_log=alone)
        return _jobs(dataset, logs).sort("run", "began", "job", "log", nulls_last=True)

    return deferred(compute, JOBS)


def _jobs(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    found = _totals(logs)
    counted = counted_records(dataset, None)
    stdio = layer_sums(dataset, logs, "stdio")
    for part in (
        layer_states(dataset, logs),
        certainty(dataset, logs),
        _counted(counted, logs),
        _beyond(dataset, counted, logs),
        _posix(dataset, logs),
        layer_sums(dataset, logs, "mpiio").select(*KEY, mpiio_bytes="bytes"),
        stdio.select(*KEY, pl.col("bytes", "requests", "seconds").name.prefix("stdio_")),
    ):
        found = found.join(part, on=KEY, how="left", nulls_equal=True)
    summed = ("bytes", "requests", "counted_s", "meta_s")
    return (
        found.with_columns(
            # a sum without a part of it is not what a job did
            pl.when("summed").then(pl.col(summed)),
            *(pl.when(f"knows_{layer}").then(pl.col(own)) for layer, own in _OF_LAYER.items()),
            beyond_s=pl.when("uses_mpiio").then("beyond_s").otherwise(0),
        )
        .with_columns(io_s=pl.col("counted_s") + pl.col("beyond_s"), stdio_s="stdio_seconds")
        .with_columns(
            share_of(pl.col(part)).alias(share)
            for part, share in (
                ("io_s", "time_share"), ("meta_s", "meta_share"),
                ("stdio_s", "stdio_share"), ("posix_s", "posix_share"),
            )
        )
    )  # fmt: skip


_OF_LAYER = {
    "posix": (
        *("files", *_COUNTS, *ALIGNMENTS, "posix_s"),
        *("slowest_meta_s", "slowest_meta_file"),
    ),
    "mpiio": ("mpiio_bytes",),
    "stdio": ("stdio_bytes", "stdio_requests", "stdio_seconds"),
}
"""Columns that stand on one layer."""


def _counted(counted: Counted, logs: pl.DataFrame) -> pl.DataFrame:
    """What all layers did, each byte counted once, by job."""
    rows = [
        frame.join(logs.select("origin", *KEY).lazy(), on="origin").select(
            *KEY,
            bytes=layer.moved("read") + layer.moved("write"),
            requests=layer.requests("read") + layer.requests("write"),
            meta_s=layer.spent("meta"),
            counted_s=layer.spent("read", "write", "meta"),
        )
        for layer, frame in counted.values()
    ]
    sums = {name: total_of(pl.col(name)) for name in ("bytes", "requests")}
    times = {name: total_of(pl.col(name)) / 1e9 for name in ("meta_s", "counted_s")}
    return pl.concat(rows).group_by(KEY).agg(**sums, **times).collect(engine="streaming")


def _beyond(dataset: DatasetReader, counted: Counted, logs: pl.DataFrame) -> pl.DataFrame:
    """Time in MPI-IO beyond that in what it calls: waiting for other ranks, copying.

    That is POSIX, file by file, or DFS, of all files of a log together.
    """

    def spent(frame: pl.LazyFrame, layer: str, by: tuple[str, ...]) -> pl.LazyFrame:
        whole = LAYERS[layer].spent("read", "write", "meta")
        return frame.group_by(by).agg(spent=total_of(whole), below=pl.lit(value=True))

    mpiio = spent(dataset["darshan.mpiio"], "mpiio", FILE).drop("below")
    posix = spent(counted["posix"][1], "posix", FILE)
    dfs = spent(counted["dfs"][1], "dfs", ("origin",))
    own = (pl.col("spent") - pl.col("spent_right")).clip(lower_bound=0)
    # where nothing is below, its time is counted as it is
    beyond = pl.when("below").then(own).otherwise(0)
    on_posix = mpiio.join(posix, on=FILE, how="left").select("origin", beyond=beyond)
    on_dfs = (
        mpiio.join(posix, on=FILE, how="anti")
        .group_by("origin")
        .agg(spent=total_of(pl.col("spent")))
        .join(dfs, on="origin")
        .select("origin", beyond=own)
    )
    return (
        pl.concat([on_posix, on_dfs])
        .join(logs.select("origin", *KEY).lazy(), on="origin")
        .group_by(KEY)
        .agg(beyond_s=total_of(pl.col("beyond")) / 1e9)
        .collect(engine="streaming")
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
        wall_s=pl.when(ends.is_not_null().all()).then(wall),
        copies=total_of(pl.col("copies")),
        modules=modules("modules"),
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
        .with_columns(
            gaps=pl.col("gaps").str.strip_suffix("; ").replace("", None),
            unsummed_modules=pl.col("modules").list.set_intersection(list(UNSUMMED)).list.sort(),
        )
        .join(process_seconds(logs), on=KEY, how="left", nulls_equal=True)
        .rename({"nprocs": "processes"})
    )


def _in_words(modules: str, what: str) -> pl.Expr:
    """``POSIX, STDIO cut off; `` or nothing."""
    named = pl.format("{} {}; ", pl.col(modules).list.join(", "), pl.lit(what))
    return pl.when(pl.col(modules).list.len() > 0).then(named).otherwise(pl.lit(""))


def _posix(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    files = by_file(dataset, logs)
    slowest = (
        pl.col("file")
        .sort_by("slowest_meta_s", "file", descending=[True, False], nulls_last=True)
        .first()
    )
    spent = total_of(sum_of(*_TIMES))
    return (
        files.group_by(KEY)
        .agg(
            *(total_of(pl.col(name)).alias(name) for name in _COUNTS),
            *(known_part(pl.col(name)).alias(name) for name in ALIGNMENTS),
            pl.col("slowest_meta_s").max(),
            posix_s=spent,
            files=pl.len(),
            slowest_meta_file=slowest,
        )
        .collect(engine="streaming")
    )


def layer_sums(dataset: DatasetReader, logs: pl.DataFrame, name: str) -> pl.DataFrame:
    """Sums of a layer by job: those of :data:`KEY`, and files, bytes, read_bytes, write_bytes,
    requests, read_s, write_s, meta_s and seconds; null where a part is not known.
    """
    layer = LAYERS[name]
    times = ("read", "write", "meta")
    return (
        dataset[layer.record_type]
        .join(logs.select("origin", *KEY).lazy(), on="origin", how="inner")
        .group_by(KEY)
        .agg(
            files=pl.col("record_id").n_unique(),
            read_bytes=total_of(layer.moved("read")),
            write_bytes=total_of(layer.moved("write")),
            requests=total_of(layer.requests("read") + layer.requests("write")),
            **{f"{what}_s": total_of(layer.spent(what)) / 1e9 for what in times},
            seconds=total_of(layer.spent(*times)) / 1e9,
        )
        .with_columns(bytes=pl.col("read_bytes") + pl.col("write_bytes"))
        .collect(engine="streaming")
    )
