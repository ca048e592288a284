"""Build the view ``io.requests``: reads and writes of each job."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import possible, sum_or_none

from .declared.jobs import REQUEST_COLUMNS
from .grouping import KEY, certainty, joined, known, layer_states, view_of_jobs
from .layers import nanoseconds
from .posix_files import OPS, by_file, process_seconds, share_of

MPIIO = ("independent", "collective", "split", "nonblocking")

_COUNTS = ("requests", "bytes", "small", "random", "shared", "shared_small", "redundant_bytes")


@view_of_jobs(REQUEST_COLUMNS)
def requests(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    """Return two rows per job, or per log: one for reads and one for writes."""
    files = by_file(dataset, logs).collect(engine="streaming")
    sure = certainty(dataset, logs, "POSIX", "MPI-IO")
    jobs = joined(process_seconds(logs), layer_states(dataset, logs), sure)
    return pl.concat(_of_op(dataset, logs, jobs, files, op, verb) for op, verb, _ in OPS)


def _of_op(
    dataset: DatasetReader,
    logs: pl.DataFrame,
    jobs: pl.DataFrame,
    files: pl.DataFrame,
    op: str,
    verb: str,
) -> pl.DataFrame:
    again = (pl.col(f"{op}_bytes") - pl.col(f"{op}_extent")).clip(lower_bound=0)
    mine = files.select(
        *(*KEY, "file"),
        requests=f"{op}s",
        bytes=f"{op}_bytes",
        seconds=f"{op}_s",
        small=f"small_{op}s",
        random=f"random_{op}s",
        shared=f"shared_{op}s",
        shared_small=f"shared_small_{op}s",
        redundant_bytes=again,
    )
    most = (("small", "small"), ("random", "random"), ("redundant", "redundant_bytes"))
    sums = mine.group_by(KEY).agg(
        *(sum_or_none(name).alias(name) for name in (*_COUNTS, "seconds")),
        small_in_file=pl.col("small").max(),
        **{f"{what}_file": _file_with_most(column) for what, column in most},
    )
    upper = known(_mpiio(dataset, logs, op, verb), jobs, "mpiio")
    return (
        joined(jobs, known(sums, jobs, "posix"), upper)
        .with_columns(
            op=pl.lit(op),
            time_share=share_of(pl.col("seconds")),
            mpiio_share=share_of(pl.col("mpiio_s")),
        )
        .select("scheduled", *(c.name for c in REQUEST_COLUMNS if c.name != "pid"))
    )


def _file_with_most(column: str) -> pl.Expr:
    """Return the file with the largest value; null if none is above 0."""
    most = pl.col("file").sort_by(column, "file", descending=[True, False], nulls_last=True).first()
    return pl.when(pl.col(column).max() > 0).then(most)


def _mpiio(dataset: DatasetReader, logs: pl.DataFrame, op: str, verb: str) -> pl.DataFrame:
    words = dict(zip(MPIIO, ("INDEP", "COLL", "SPLIT", "NB"), strict=True))
    counts = {name: sum_or_none(possible(f"MPIIO_{word}_{verb}")) for name, word in words.items()}
    return (
        dataset["darshan.mpiio"]
        .join(logs.select("origin", *KEY).lazy(), on="origin")
        .group_by(KEY)
        .agg(**counts, mpiio_s=sum_or_none(nanoseconds(f"MPIIO_F_{op.upper()}_TIME")) / 1e9)
        .collect(engine="streaming")
    )
