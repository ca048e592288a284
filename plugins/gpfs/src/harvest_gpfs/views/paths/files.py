"""Views that list paths: the largest and the oldest objects."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import polars as pl

from harvest import DatasetReader

from ...aggregation.links import IDENTITY, candidate
from ..common import INT, TEXT, collected, frame_of, listing, named, of_scan

__all__ = ["largest", "oldest"]

_TIME: Final = pl.Datetime("us", "UTC")
_SHOWN: Final = {
    "path": TEXT,
    **dict.fromkeys(("size_bytes", "allocated_bytes", "uid"), INT),
    "user": TEXT,
    "gid": INT,
    **dict.fromkeys(("access_time", "modify_time"), _TIME),
    **dict.fromkeys(("pool", "fileset"), TEXT),
    "nlink": INT,
    "inode": pl.UInt64(),
    "origin": TEXT,
    "position": INT,
}


def largest(dataset: DatasetReader, n: int, scan: str, passwd: Path | None = None) -> pl.LazyFrame:
    """The view ``gpfs.largest``: the objects of most logical bytes, each once."""
    return _first(dataset, "size_bytes", n, scan, passwd, descending=True)


def oldest(
    dataset: DatasetReader, n: int, by: str, scan: str, passwd: Path | None = None
) -> pl.LazyFrame:
    """The view ``gpfs.oldest``: the files that were modified (or accessed) longest ago, each once.

    Directories do not count.  A time that is asked for is a column, too.
    """
    return _first(dataset, f"{by}_time", n, scan, passwd, descending=False)


def _first(
    dataset: DatasetReader,
    column: str,
    n: int,
    scan: str,
    passwd: Path | None,
    *,
    descending: bool,
) -> pl.LazyFrame:
    shown = _SHOWN if column in _SHOWN else {**_SHOWN, column: _TIME}
    users = named(passwd).user_names
    names = pl.DataFrame(list(users.items()), {"uid": INT, "user": TEXT}, orient="row")
    found = listing(dataset, scan)

    def compute() -> pl.DataFrame:
        table = _objects(frame_of(found), shown, column, n, descending=descending)
        return table.join(names, on="uid", how="left", maintain_order="left")

    return of_scan(found, shown, compute)


def _objects(
    rows: pl.LazyFrame, shown: Iterable[str], column: str, n: int, *, descending: bool
) -> pl.DataFrame:
    """The first ``n`` objects by a column.

    Rows are taken in the order of the column, then of objects and paths, so that the paths of an
    object follow each other; more are taken until ``n`` objects are among them.
    """
    columns = [name for name in shown if name != "user"]
    rows = rows.filter(
        pl.col("kind").ne_missing(pl.lit("directory")), pl.col(column).is_not_null()
    ).select(
        *columns,
        *(name for name in IDENTITY if name not in columns),
        candidate().alias("may repeat"),
    )
    order = [column, *IDENTITY, "path", "origin", "position"]
    down = [descending, *[False] * (len(order) - 1)]
    wanted = n * 2
    while True:
        taken = _head(rows, column, wanted, descending=descending)
        taken = taken.sort(order, descending=down, nulls_last=True)
        repeats = pl.col("may repeat") & ~pl.struct(IDENTITY).is_first_distinct()
        objects = taken.filter(~repeats)
        if objects.height >= n or taken.height < wanted:
            return objects.head(n).sort(
                [column, "path"], descending=[descending, False], maintain_order=True
            )
        wanted *= 4


def _head(rows: pl.LazyFrame, column: str, wanted: int, *, descending: bool) -> pl.DataFrame:
    """At least the first ``wanted`` rows by a column and the inode; all where there are fewer.

    Found by their least value, which no engine needs to sort whole rows for.
    """
    value = pl.col(column)
    first = value.top_k(wanted) if descending else value.bottom_k(wanted)
    edge = collected(rows.select(first.alias("v")))["v"]
    if len(edge) < wanted:
        return collected(rows)
    last = edge.min() if descending else edge.max()
    # many may share the last value: of those, the ones with the smallest inodes
    tied = rows.filter(value == last)
    inode = collected(tied.select(pl.col("inode").bottom_k(wanted)))["inode"].max()
    before = value > last if descending else value < last
    return collected(rows.filter(before | ((value == last) & (pl.col("inode") <= inode))))
