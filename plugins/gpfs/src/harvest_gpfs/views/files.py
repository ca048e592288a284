"""Views of what is worth a look: large and old objects, likely copies, crowded directories.

Copies and entries are grouped by texts, of which a scan may have hundreds of millions.  Sizes, or a
hash, decide which share of them is looked at, so that memory holds a share; the texts decide what
is one group.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import count_if_known, fraction, possible, sum_or_none

from ..aggregation.groupings import NO_DIRECTORY, parse_size, read_names, text_of
from ..aggregation.listing import BUDGET, IDENTITY, candidate, passes_for
from . import common
from .common import INT, TEXT, collected, frame_of, listing, objects_with, of_scan, types_of

_SHOWN: Final = objects_with(
    *("path", "size_bytes", "allocated_bytes", "uid", "user", "gid", "access_time", "modify_time"),
    *("pool", "fileset", "nlink", "inode", "origin", "position"),
)


def largest(dataset: DatasetReader, n: int, scan: str, passwd: Path | None = None) -> pl.LazyFrame:
    """The view ``gpfs.largest``."""
    return _first(dataset, "size_bytes", n, scan, passwd, descending=True)


def oldest(
    dataset: DatasetReader, n: int, by: str, scan: str, passwd: Path | None = None
) -> pl.LazyFrame:
    """The view ``gpfs.oldest``; a time that is asked for is a column, too."""
    return _first(dataset, f"{by}_time", n, scan, passwd, descending=False)


def _first(
    dataset: DatasetReader, column: str, n: int, scan: str, passwd: Path | None, *, descending: bool
) -> pl.LazyFrame:
    shown = _SHOWN if column in _SHOWN else {**_SHOWN, column: common.TIME}
    names, found = read_names(passwd, "passwd"), listing(dataset, scan)

    def compute() -> pl.DataFrame:
        table = _objects(frame_of(found), shown, column, n, descending=descending)
        return table.with_columns(user=text_of("uid", names))

    return of_scan(found, shown, compute)


def _objects(
    rows: pl.LazyFrame, shown: Iterable[str], column: str, n: int, *, descending: bool
) -> pl.DataFrame:
    """The first ``n`` objects by a column.

    Rows are taken in the order of the column, then of objects and paths, so that the paths of an
    object follow each other; more are taken until ``n`` objects are among them.
    """
    columns = [name for name in shown if name != "user"]
    rows = rows.filter(NO_DIRECTORY, pl.col(column).is_not_null()).select(
        *dict.fromkeys((*columns, *IDENTITY)), candidate().alias("may repeat")
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


_NAME: Final = r"/([^/]*)$"

LEAST_ROWS = 2_000_000
"""Rows whose names are compared at once, at least."""

_BYTES_PER_ROW: Final = 600

_COPIES: Final = types_of(
    *("name", "size_bytes", "copies", "extra_bytes", "first_path", "last_path", "all_names"),
    *("all_extra_copies", "all_extra_bytes", "extra_share"),
) | dict.fromkeys(("name", "first_path", "last_path"), TEXT)
_ORDER: Final = ("extra_bytes", "name", "size_bytes")


def duplicates(dataset: DatasetReader, above: str, n: int, scan: str) -> pl.LazyFrame:
    """The view ``gpfs.duplicates``; of a list without sizes there is one row, of nulls.

    above: files of fewer bytes are left out: they are most files, and hold little.
    """
    least = parse_size(above)
    found = listing(dataset, scan)

    def compute() -> pl.DataFrame:
        rows = frame_of(found).filter(NO_DIRECTORY)
        large = rows.filter(pl.col("size_bytes") >= max(least, 1)).select(
            "path", "size_bytes", *IDENTITY
        )
        total = int(collected(large.select(pl.len())).item())
        shares = passes_for(total, least=LEAST_ROWS, bytes_each=_BYTES_PER_ROW, budget=BUDGET * 2)
        sums = {
            "all_names": pl.len(),
            "all_extra_copies": (pl.col("copies") - 1).sum(),
            "all_extra_bytes": pl.col("extra_bytes").sum(),
        }
        firsts, together = [], []
        for share in range(shares):
            copies = _copies(large, share, shares)
            firsts.append(copies.head(n))
            together.append(copies.select(**sums))
        (all_bytes,) = found.aggregate([], ["size_bytes"], directories=False).row(0)
        sizes_known = (
            total or collected(rows.select(pl.col("size_bytes").is_not_null().any())).item()
        )
        if not sizes_known and not collected(rows.head(1)).is_empty():
            # that no name occurs twice is not known either
            return pl.DataFrame({name: [None] for name in _COPIES})
        first = pl.concat(firsts).sort(*_ORDER, descending=[True, False, False]).head(n)
        return first.join(pl.concat(together).sum(), how="cross").with_columns(
            extra_share=fraction("all_extra_bytes", pl.lit(all_bytes, pl.Int128))
        )

    return of_scan(found, _COPIES, compute)


def _copies(large: pl.LazyFrame, share: int, shares: int) -> pl.DataFrame:
    """Of a share of the names those that several files of one size have, the most bytes first."""
    if shares > 1:
        large = large.filter(pl.col("size_bytes") % shares == share)
    name = pl.col("path").str.extract(_NAME).fill_null(pl.col("path"))
    objects = large.group_by(name.alias("name"), "size_bytes", *IDENTITY).agg(pl.col("path").min())
    groups = objects.group_by("name", "size_bytes").agg(
        pl.len().cast(INT).alias("copies"),
        pl.col("path").min().alias("first_path"),
        pl.col("path").max().alias("last_path"),
    )
    several = groups.filter(pl.col("copies") > 1).with_columns(
        ((pl.col("copies") - 1) * possible("size_bytes")).alias("extra_bytes")
    )
    return collected(several).sort(*_ORDER, descending=[True, False, False])


_BUCKETS: Final = 1 << 20


def crowded(dataset: DatasetReader, least: int, scan: str) -> pl.LazyFrame:
    """The view ``gpfs.crowded``."""
    found = listing(dataset, scan)

    def compute() -> pl.DataFrame:
        directory = pl.col("path").str.replace(_NAME, "").alias("directory")
        below = frame_of(found).filter(pl.col("path").str.contains("/", literal=True))
        rows = below.select(directory, "kind", "size_bytes")
        bucket = (pl.col("directory").hash() % _BUCKETS).alias("bucket")
        # a directory of so many entries is in a bucket of at least as many: most have fewer
        counts = collected(rows.group_by(bucket).agg(pl.len()))
        full = counts.filter(pl.col("len") >= least)["bucket"]
        some = rows.filter(bucket.is_in(full.implode())) if len(full) else rows.clear()
        table = some.group_by("directory").agg(
            entries=pl.len().cast(INT),
            files=count_if_known(pl.col("kind") == "file"),
            directories=count_if_known(pl.col("kind") == "directory"),
            size_bytes=sum_or_none(possible("size_bytes")),
        )
        table = collected(table.filter(pl.col("entries") >= least))
        return table.with_columns(pl.col("directory").replace("", "/")).sort(
            "entries", "directory", descending=[True, False]
        )

    entries = types_of("entries", "files", "directories", "size_bytes")
    return of_scan(found, {"directory": TEXT, **entries}, compute)
