"""The view ``dask.prefixes``: kinds of tasks, with their time, failures and I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from harvest.toolkit.deferred import deferred

from ..frames import Frames, known_sum, load
from ..io.counted import COUNTER_TYPES
from ..io.views import once, task_io
from ..runs import named_run
from .executions import EXECUTION_TYPES, executions
from .failures import failed_tasks, repeated_tasks

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["IO_TYPES", "io_by_task", "kinds_of", "prefixes"]

KIND_TYPES: Final = (*EXECUTION_TYPES, "dask.log_event")
IO_TYPES: Final = ("darshan.dxt_segment", *COUNTER_TYPES)

PREFIXES: dict[str, pl.DataType] = {
    "run": pl.String(),
    "prefix": pl.String(),
    "tasks": pl.Int64(),
    "executions": pl.Int64(),
    "unended": pl.Int64(),
    "total_s": pl.Float64(),
    "share": pl.Float64(),
    "mean_s": pl.Float64(),
    "median_s": pl.Float64(),
    "max_s": pl.Float64(),
    "size_bytes": pl.Int64(),
    "attempts": pl.Int64(),
    "failed": pl.Int64(),
    "error": pl.String(),
    "repeated": pl.Int64(),
    "repeated_s": pl.Float64(),
    "io_read_bytes": pl.Int64(),
    "io_write_bytes": pl.Int64(),
    "io_s": pl.Float64(),
    "io_share": pl.Float64(),
    "io_beside_bytes": pl.Int64(),
    "io_beside_s": pl.Float64(),
}

IO_SUMS: Final = ("io_read_bytes", "io_write_bytes", "io_s", "io_beside_bytes", "io_beside_s")


def prefixes(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """One row per kind of task and run, that with the most time first.

    run: keeps one run (its directory, or the directory's name).
    """
    wanted = named_run(dataset, run)

    def compute() -> pl.DataFrame:
        frames = load(dataset, KIND_TYPES, run=wanted)
        found = executions(frames).collect()
        return kinds_of(found, frames, io_by_task(dataset, wanted))

    return deferred(compute, PREFIXES)


def io_by_task(dataset: DatasetReader, run: str | None) -> pl.DataFrame | None:
    """Rows of ``dask.task_io``, each operation once; None where Darshan's logs are not there."""
    if not any(name in dataset for name in IO_TYPES):
        return None
    return once(task_io(dataset, run=run)).collect()


def kinds_of(found: pl.DataFrame, frames: Frames, io: pl.DataFrame | None) -> pl.DataFrame:
    """The view, from executions and rows of ``dask.task_io``."""
    one = ["run", "prefix"]
    seconds = pl.col("seconds")
    sums = found.group_by(one).agg(
        executions=pl.len().cast(pl.Int64),
        unended=seconds.is_null().sum().cast(pl.Int64),
        tasks=pl.col("key").n_unique().cast(pl.Int64),
        total_s=known_sum("seconds"),
        mean_s=seconds.mean(),
        median_s=seconds.median(),
        max_s=seconds.max(),
        size_bytes=known_sum("size_bytes"),
    )
    of_key = found.select("run", "key", "prefix").unique(["run", "key"])
    whole = pl.col("total_s").sum().over("run")
    return (
        # kinds whose executions are known to have failed alone are here, too
        sums.join(_failures(frames), on=one, how="full", coalesce=True)
        .join(_repeats(found, of_key), on=one, how="left")
        .join(_io(io, of_key), on=one, how="left")
        .with_columns(
            pl.col("tasks", "executions", "unended").fill_null(0),
            pl.col("failed", "repeated", "repeated_s").fill_null(0),
            attempts=pl.col("executions").fill_null(0) + pl.col("unseen").fill_null(0),
            share=pl.when(whole > 0).then(pl.col("total_s") / whole),
        )
        .with_columns(
            io_share=pl.when(pl.col("total_s") > 0).then(pl.col("io_s") / pl.col("total_s"))
        )
        .sort("run", "total_s", "prefix", descending=[False, True, False], nulls_last=True)
        .select(list(PREFIXES))
    )


def _failures(frames: Frames) -> pl.DataFrame:
    """run, prefix, failed, unseen, error: of kinds that have failures."""
    failed = failed_tasks(frames).collect()
    one = ["run", "prefix"]
    commonest = (
        failed.filter(pl.col("error").is_not_null())
        .group_by(*one, "error")
        .agg(times=pl.col("failed").sum())
        .sort("times", "error", descending=[True, False])
        .group_by(one, maintain_order=True)
        .agg(pl.col("error").first())
    )
    sums = failed.group_by(one).agg(pl.col("failed", "unseen").sum())
    return sums.join(commonest, on=one, how="left")


def _repeats(found: pl.DataFrame, of_key: pl.DataFrame) -> pl.DataFrame:
    """run, prefix, repeated, repeated_s: of kinds whose tasks ran more than once."""
    return (
        repeated_tasks(found.lazy())
        .collect()
        .join(of_key, on=["run", "key"])
        .group_by("run", "prefix")
        .agg(pl.col("repeated").sum(), pl.col("repeated_s").sum())
    )


def _io(io: pl.DataFrame | None, of_key: pl.DataFrame) -> pl.DataFrame:
    """run, prefix and the columns io_* but io_share, of kinds in runs whose processes are known."""
    one = ["run", "prefix"]
    if io is None:
        return pl.DataFrame(schema={name: PREFIXES[name] for name in (*one, *IO_SUMS)})

    def moved(op: str) -> pl.Expr:
        return pl.col("bytes").filter(pl.col("op") == op).sum()

    spent = ((pl.col("seconds") * 1e9).round(0).cast(pl.Int64).sum() / 1e9).round(9)
    of_tasks = io.join(of_key, on=["run", "key"]).group_by(one)
    beside = io.filter(pl.col("beside").is_not_null()).group_by("run", prefix="beside")
    return (
        of_key.select(one)
        .unique()
        .join(io.select("run").unique(), on="run")
        .join(
            of_tasks.agg(io_read_bytes=moved("read"), io_write_bytes=moved("write"), io_s=spent),
            on=one,
            how="left",
        )
        .join(
            beside.agg(io_beside_bytes=pl.col("bytes").sum(), io_beside_s=spent),
            on=one,
            how="left",
        )
        .with_columns(pl.col(IO_SUMS).fill_null(0))
    )
