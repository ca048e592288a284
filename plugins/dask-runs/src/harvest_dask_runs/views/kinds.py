"""The view ``dask.prefixes``: kinds of tasks, with their time, failures and I/O."""

from __future__ import annotations

from typing import Final

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import fraction, known_sum, sum_or_none

from ..executions.executions import executions
from ..frames import Frames, exact_sum, load
from ..parts.failures import commonest_errors, failed_tasks, repeated_tasks
from ..record_names import COUNTED, DASK_TYPES, SEGMENT
from .declared.tasks import PREFIX_COLUMNS
from .task_io import TASK_IO, once, task_io
from .workers import whole_runs

IO_SUMS: Final = (
    *("io_read_bytes", "io_write_bytes", "io_s", "io_beside_bytes", "io_beside_s", "io_busy_s"),
)


def prefixes(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """One row per kind of task and run, that with the most time first."""
    frames = load(dataset, DASK_TYPES, run=run)
    found = executions(frames).collect()
    whole = whole_runs(frames).collect()
    return kinds_of(found, frames, io_by_task(dataset, run), whole).lazy()


def io_by_task(dataset: DatasetReader, run: str | None) -> pl.DataFrame:
    """Rows of ``dask.task_io``, each operation once; none where Darshan's logs are not there."""
    if not any(name in dataset for name in (SEGMENT, *COUNTED)):
        return pl.DataFrame(schema=TASK_IO)
    return once(task_io(dataset, run=run)).collect()


def kinds_of(
    found: pl.DataFrame, frames: Frames, io: pl.DataFrame, whole: pl.DataFrame
) -> pl.DataFrame:
    """The view, from executions and rows of ``dask.task_io``.

    whole: runs whose workers recorded all that they executed: elsewhere, a failure or repeat that
        is not recorded may have happened all the same.
    """
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
    total = pl.col("total_s").sum().over("run")
    none = pl.when("whole").then(0)
    return (
        # kinds whose executions are known to have failed alone are here, too
        sums.join(_failures(frames), on=one, how="full", coalesce=True)
        .join(_repeats(found, of_key), on=one, how="left")
        .join(_io(io, found), on=one, how="left")
        .join(whole.with_columns(whole=True), on="run", how="left")
        .with_columns(
            *(pl.coalesce(n, none).alias(n) for n in ("failed", "repeated", "rescheduled")),
            *(
                # of none the time is none; of some it may be not known
                pl.when(pl.coalesce(name, none) == 0)
                .then(0.0)
                .otherwise(f"{name}_s")
                .alias(f"{name}_s")
                for name in ("repeated", "rescheduled")
            ),
            pl.when((pl.col("unended") > 0) | pl.col("whole")).then("unended"),
            attempts=pl.col("executions").fill_null(0) + pl.col("unseen").fill_null(0),
            share=fraction("total_s", total),
        )
        .with_columns(io_share=fraction("io_s", "io_busy_s"))
        .sort("run", "total_s", "prefix", descending=[False, True, False], nulls_last=True)
        .select(column.name for column in PREFIX_COLUMNS)
    )


def _failures(frames: Frames) -> pl.DataFrame:
    """run, prefix, failed, unseen, and the columns error*: of kinds that have failures."""
    failed = failed_tasks(frames).collect()
    one = ["run", "prefix"]
    sums = failed.group_by(one).agg(pl.col("failed", "unseen").sum())
    return sums.join(commonest_errors(failed), on=one, how="left")


def _repeats(found: pl.DataFrame, of_key: pl.DataFrame) -> pl.DataFrame:
    """run, prefix, and the sums of ``repeated_tasks``: of kinds whose tasks ran more than once."""
    return (
        repeated_tasks(found.lazy())
        .collect()
        .join(of_key, on=["run", "key"])
        .group_by("run", "prefix")
        .agg(
            pl.col("repeated", "rescheduled").sum(),
            *map(known_sum, ("repeated_s", "rescheduled_s")),
        )
    )


def _io(io: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """run, prefix and the columns io_* but io_share, of kinds in runs whose processes are known.

    Of executions in other processes no I/O is known: they are left out of io_busy_s, too.
    """
    one = ["run", "prefix"]
    how, op, size = pl.col("how"), pl.col("op"), pl.col("bytes")
    homes = io.drop_nulls("worker").select("run", "worker").unique()
    there = found.join(homes, on=["run", "worker"])
    known = io.group_by("run").agg(traced=(how == "traced").any(), counted=(how == "counted").any())
    seconds = pl.col("seconds")
    timed, tied = pl.when(seconds.is_not_null().any()).then(exact_sum(seconds)), pl.lit(value=True)

    of_key = found.select("run", "key", "prefix").unique(["run", "key"])
    of_tasks = io.join(of_key, on=["run", "key"]).group_by(one)
    beside = io.drop_nulls("beside").group_by("run", prefix="beside")
    return (
        found.select(one)
        .unique()
        .join(known, on="run")
        .join(
            there.group_by(one).agg(here=tied, io_busy_s=known_sum("seconds")),
            on=one,
            how="left",
        )
        .join(
            of_tasks.agg(
                of_task=tied,
                io_read_bytes=sum_or_none(size.filter(op == "read")),
                io_write_bytes=sum_or_none(size.filter(op == "write")),
                io_s=timed,
            ),
            on=one,
            how="left",
        )
        .join(
            beside.agg(of_kind=tied, io_beside_bytes=sum_or_none(size), io_beside_s=timed),
            on=one,
            how="left",
        )
        # without a trace, what tasks are not known to have done they may have done
        .with_columns(
            pl.when(pl.col("of_task").is_null() & pl.col("traced") & pl.col("here"))
            .then(0)
            .otherwise(pl.col("io_read_bytes", "io_write_bytes", "io_s"))
            .name.keep(),
            pl.when(pl.col("of_kind").is_null() & pl.col("counted") & pl.col("here"))
            .then(0)
            .otherwise(pl.col("io_beside_bytes", "io_beside_s"))
            .name.keep(),
        )
        .select(*one, *IO_SUMS)
    )
