"""What Darshan's counters say of files that have no trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from .frames import of_run, run_of

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["BINS", "counter_rows", "metadata_seconds"]

BINS = (
    *("0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M"),
    *("1M_4M", "4M_10M", "10M_100M", "100M_1G", "1G_PLUS"),
)
"""Darshan's bins of the sizes of reads and writes, in its own words."""

_MPIIO = ("INDEP", "COLL", "SPLIT", "NB")


def counter_rows(dataset: DatasetReader, run: str | None, traced: pl.DataFrame) -> pl.DataFrame:
    """Counters of POSIX, MPI-IO and STDIO as rows like those of ``traced``.

    traced: rows with origin and record_id; files of a log that are there are left out, but for
        their buffered I/O.

    Columns: origin, record_id, rank (-1: all processes), module, op, path, count, bytes,
    nanoseconds, sequential (null: not known), and a column per bin of sizes (null: not known).
    """
    file = ["origin", "record_id"]
    posix = _rows(dataset, run, "darshan.posix", "POSIX", "POSIX", ("",), "SIZE", ordered=True)
    posix = posix.join(traced.select(file).unique(), on=file, how="anti")
    mpiio = _rows(
        dataset, run, "darshan.mpiio", "MPI-IO", "MPIIO", _MPIIO, "SIZE_AGG", ordered=False
    )
    known = pl.concat([traced.select(file), posix.select(file)]).unique()
    return pl.concat(
        [
            posix,
            mpiio.join(known, on=file, how="anti"),
            _rows(dataset, run, "darshan.stdio", "STDIO", "STDIO", ("",), None, ordered=False),
        ]
    ).select(traced.columns)


def _rows(
    dataset: DatasetReader,
    run: str | None,
    name: str,
    module: str,
    prefix: str,
    kinds: tuple[str, ...],
    sizes: str | None,
    *,
    ordered: bool,
) -> pl.DataFrame:
    """A row per record and op."""
    frame = of_run(dataset[name], run)

    def one(op: str, verb: str, done: str) -> pl.LazyFrame:
        def size(name: str) -> pl.Expr:
            if sizes is None:
                return pl.lit(None, dtype=pl.Int64).alias(name)
            word, _, infix = sizes.partition("_")
            column = "_".join(filter(None, (prefix, word, op.upper(), infix, name)))
            return pl.col(column).alias(name)

        count = pl.sum_horizontal("_".join(filter(None, (prefix, kind, verb))) for kind in kinds)
        sequential = pl.col(f"{prefix}_SEQ_{verb}") if ordered else pl.lit(None, dtype=pl.Int64)
        return frame.select(
            *("origin", "record_id", "rank", "path"),
            *[size(name) for name in BINS],
            module=pl.lit(module),
            op=pl.lit(op),
            count=count.cast(pl.Int64),
            bytes=pl.col(f"{prefix}_BYTES_{done}"),
            nanoseconds=(pl.col(f"{prefix}_F_{op.upper()}_TIME") * 1e9).round(0).cast(pl.Int64),
            sequential=sequential,
        )

    return pl.concat([one("read", "READS", "READ"), one("write", "WRITES", "WRITTEN")]).collect()


def metadata_seconds(dataset: DatasetReader, run: str | None) -> pl.DataFrame:
    """Time in metadata operations by run and record_id: of POSIX, else of MPI-IO, and of STDIO."""

    def rows(name: str, prefix: str) -> pl.LazyFrame:
        timer = pl.col(f"{prefix}_F_META_TIME")
        nanoseconds = (timer * 1e9).round(0).cast(pl.Int64)
        return of_run(dataset[name], run).select("origin", "record_id", spent=nanoseconds)

    posix, file = rows("darshan.posix", "POSIX"), ["origin", "record_id"]
    upper = rows("darshan.mpiio", "MPIIO").join(posix, on=file, how="anti")
    return (
        pl.concat([posix, upper, rows("darshan.stdio", "STDIO")])
        .group_by("record_id", run=run_of(pl.col("origin")))
        .agg(meta_s=pl.col("spent").sum() / 1e9)
        .collect(engine="streaming")
    )
