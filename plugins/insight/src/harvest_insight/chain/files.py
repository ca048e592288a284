"""Links from Darshan's logs to files, and from files to the entries of GPFS scans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import polars as pl

from .links import CERTAIN, LIKELY, POSSIBLE, links, rows

if TYPE_CHECKING:
    from harvest import DatasetReader

_ENTRY: Final = ("path", "inode", "generation", "create_time", "scan_time")


def files_of_logs(dataset: DatasetReader) -> Iterator[pl.LazyFrame]:
    """Yield the links ``log to file``, from the file names that a log records."""
    files = rows(dataset, "darshan.file", "record_id", "path", "origin")
    files = files.rename({"origin": "log"})
    yield links(files, "log to file", how="name record of the log", sure=CERTAIN)


def entries_of_files(dataset: DatasetReader) -> Iterator[pl.LazyFrame]:
    """Yield the links ``file to entry``: to the same path in each scan that lists it.

    An entry created after the end of the last log with this path may be another file of that
    name. The link is then possible, otherwise likely.
    """
    if "gpfs.file" not in dataset or "darshan.file" not in dataset:
        return
    ended = rows(dataset, "darshan.job", "end_time", "origin")
    used = (
        rows(dataset, "darshan.file", "path", "origin")
        .join(ended, on="origin", how="left")
        .group_by("path")
        .agg(pl.col("end_time").max())
    )
    entries = rows(dataset, "gpfs.file", *_ENTRY).join(used, on="path")
    made_since = pl.col("create_time") > pl.col("end_time")
    yield links(
        entries,
        "file to entry",
        how=pl.when(made_since)
        .then(pl.lit("same path; the entry was made after the last log of it"))
        .otherwise(pl.lit("same path")),
        sure=pl.when(made_since).then(pl.lit(POSSIBLE)).otherwise(pl.lit(LIKELY)),
    )
