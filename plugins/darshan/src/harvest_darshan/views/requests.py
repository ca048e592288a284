"""The view ``io.requests``: how a job's processes read, and how they write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from harvest.toolkit.deferred import deferred

from .frames import TIME
from .grouping import KEY, logs_by_job
from .posix_files import OPS, by_file, nanoseconds, process_seconds

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["requests"]

MPIIO = ("independent", "collective", "split", "nonblocking")

REQUESTS: dict[str, pl.DataType] = {
    "run": pl.String(),
    "job": pl.Int64(),
    "began": TIME,
    "log": pl.String(),
    "program": pl.String(),
    "op": pl.String(),
    "requests": pl.Int64(),
    "bytes": pl.Int64(),
    "seconds": pl.Float64(),
    "time_share": pl.Float64(),
    "small": pl.Int64(),
    "small_file": pl.String(),
    "small_in_file": pl.Int64(),
    "random": pl.Int64(),
    "random_file": pl.String(),
    "shared": pl.Int64(),
    "shared_small": pl.Int64(),
    "redundant_bytes": pl.Int64(),
    "redundant_file": pl.String(),
    **{name: pl.Int64() for name in MPIIO},
    "mpiio_s": pl.Float64(),
    "mpiio_share": pl.Float64(),
}


def requests(
    dataset: DatasetReader,
    *,
    run: str | None = None,
    job: int | None = None,
    per: str = "job",
) -> pl.LazyFrame:
    """Two rows per job, one for reads and one for writes.

    run: keeps one run (the directory of its logs, or the directory's name).
    job: keeps one job.
    per: job (default) or log: what a pair of rows stands for.
    """
    alone = per == "log"

    def compute() -> pl.DataFrame:
        logs = logs_by_job(dataset, run, job, per_log=alone)
        files = by_file(dataset, logs).collect(engine="streaming")
        per_op = [_of_op(dataset, logs, files, *names) for names in OPS]
        return pl.concat(per_op).sort("run", "began", "job", "log", "op", nulls_last=True)

    return deferred(compute, REQUESTS)


def _of_op(
    dataset: DatasetReader, logs: pl.DataFrame, files: pl.DataFrame, op: str, verb: str, done: str
) -> pl.DataFrame:
    again = (pl.col(f"{op}_bytes") - pl.col(f"{op}_extent")).clip(lower_bound=0)
    mine = files.select(
        *(*KEY, "file"),
        requests=f"{op}s",
        bytes=f"{op}_bytes",
        seconds=f"{op}_s",
        small=f"small_{op}s",
        random=pl.col(f"{op}s") - pl.col(f"sequential_{op}s"),
        shared=f"shared_{op}s",
        shared_small=f"shared_small_{op}s",
        redundant_bytes=again,
    )
    added = ("requests", "bytes", "seconds", "small", "random", "shared", "shared_small")
    sums = mine.group_by(KEY).agg(
        pl.col(*added, "redundant_bytes").sum(),
        small_in_file=pl.col("small").max(),
        **{
            f"{what}_file": _file_with_most(column)
            for what, column in (
                ("small", "small"), ("random", "random"), ("redundant", "redundant_bytes")
            )
        },
    )  # fmt: skip
    return (
        process_seconds(logs)
        .join(sums, on=KEY, how="left", nulls_equal=True)
        .join(_mpiio(dataset, logs, op, verb), on=KEY, how="left", nulls_equal=True)
        .with_columns(
            pl.col(*added, "redundant_bytes", "small_in_file").fill_null(0), op=pl.lit(op)
        )
        .with_columns(
            pl.when(pl.col("process_s") > 0).then(pl.col(part) / pl.col("process_s")).alias(share)
            for part, share in (("seconds", "time_share"), ("mpiio_s", "mpiio_share"))
        )
        .select(*REQUESTS)
    )


def _file_with_most(column: str) -> pl.Expr:
    """The file with the greatest value; null where none is above 0."""
    most = pl.col("file").sort_by(column, "file", descending=[True, False]).first()
    return pl.when(pl.col(column).max() > 0).then(most)


def _mpiio(dataset: DatasetReader, logs: pl.DataFrame, op: str, verb: str) -> pl.DataFrame:
    words = dict(zip(MPIIO, ("INDEP", "COLL", "SPLIT", "NB"), strict=True))
    return (
        dataset["darshan.mpiio"]
        .join(logs.select("origin", *KEY).lazy(), on="origin")
        .group_by(KEY)
        .agg(
            *(pl.col(f"MPIIO_{word}_{verb}").sum().alias(name) for name, word in words.items()),
            mpiio_s=nanoseconds(f"MPIIO_F_{op.upper()}_TIME").sum() / 1e9,
        )
        .collect(engine="streaming")
    )
