"""Views of what is worth a look: names that may be copies, and directories of very many entries.

Both group by texts, of which a scan may have hundreds of millions.  Sizes, or a hash, decide which
share of them is looked at, so that memory holds a share; the texts decide what is one group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from ..aggregation.bins import parse_size
from ..aggregation.links import IDENTITY, passes_for
from ..aggregation.listing import BUDGET
from ..aggregation.scans import LATEST
from .common import (
    INT,
    SHARE,
    TEXT,
    collected,
    frame_of,
    known_sum,
    listing,
    of_scan,
    share_of,
)

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["crowded", "duplicates"]

_LAST: Final = r"/[^/]*$"
_NAME: Final = r"/([^/]*)$"
_BUCKETS: Final = 1 << 20

LEAST_ROWS = 2_000_000
"""Rows whose names are compared at once, at least."""

_BYTES_PER_ROW: Final = 600

_COPIES: Final = {
    "name": TEXT,
    "size_bytes": INT,
    "copies": INT,
    "extra_bytes": INT,
    "first_path": TEXT,
    "last_path": TEXT,
    "all_names": INT,
    "all_extra_copies": INT,
    "all_extra_bytes": INT,
    "extra_share": SHARE,
}


def duplicates(
    dataset: DatasetReader, above: str | int = "64M", n: int = 50, scan: str = LATEST
) -> pl.LazyFrame:
    """The view ``gpfs.duplicates``: files of one name and one size in several directories.

    A guess: contents are not compared.  Hard links are one file.  ``extra_bytes`` is what all but
    one of them hold; ``all_`` columns are sums over all such names, shown or not, and
    ``extra_share`` of the bytes of all files.  Of a list without sizes there is one row, of nulls.
    above: files of fewer bytes are left out: they are most files, and hold little.
    """
    least = parse_size(above)
    found = listing(dataset, scan)

    def compute() -> pl.DataFrame:
        rows = frame_of(found).filter(pl.col("kind").ne_missing(pl.lit("directory")))
        large = rows.filter(pl.col("size_bytes") >= max(least, 1)).select(
            "path", "size_bytes", *IDENTITY
        )
        total = int(collected(large.select(pl.len())).item())
        shares = passes_for(total, least=LEAST_ROWS, bytes_each=_BYTES_PER_ROW, budget=BUDGET * 2)
        firsts, sums = [], []
        for share in range(shares):
            copies = _copies(large, share, shares)
            firsts.append(copies.head(n))
            sums.append(copies.select(pl.len().alias("all_names"), *_extra_sums()))
        (all_bytes,) = found.aggregate([], ["size_bytes"], directories=False).row(0)
        sizes_known = (
            total or collected(rows.select(pl.col("size_bytes").is_not_null().any())).item()
        )
        if not sizes_known and not collected(rows.head(1)).is_empty():
            # that no name occurs twice is not known either
            return pl.DataFrame({name: [None] for name in _COPIES})
        first = pl.concat(firsts).sort(*_ORDER, descending=[True, False, False]).head(n)
        return first.join(pl.concat(sums).sum(), how="cross").with_columns(
            share_of("all_extra_bytes", all_bytes).alias("extra_share")
        )

    return of_scan(found, _COPIES, compute)


_ORDER: Final = ("extra_bytes", "name", "size_bytes")


def _extra_sums() -> list[pl.Expr]:
    return [
        (pl.col("copies") - 1).sum().alias("all_extra_copies"),
        pl.col("extra_bytes").sum().alias("all_extra_bytes"),
    ]


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
        ((pl.col("copies") - 1) * pl.col("size_bytes")).alias("extra_bytes")
    )
    return collected(several).sort(*_ORDER, descending=[True, False, False])


_ENTRIES: Final = {
    "directory": TEXT,
    "entries": INT,
    "files": INT,
    "directories": INT,
    "size_bytes": INT,
}


def crowded(dataset: DatasetReader, least: int = 10_000, scan: str = LATEST) -> pl.LazyFrame:
    """The view ``gpfs.crowded``: directories of very many entries, the most first.

    Entries are paths listed directly in a directory; ``size_bytes`` is what they hold, at each of
    their paths, as far as it is known.
    least: entries that a directory has at least.
    """
    found = listing(dataset, scan)

    def compute() -> pl.DataFrame:
        below = frame_of(found).filter(pl.col("path").str.contains("/", literal=True))
        rows = below.select(
            pl.col("path").str.replace(_LAST, "").alias("directory"), "kind", "size_bytes"
        )
        bucket = (pl.col("directory").hash() % _BUCKETS).alias("bucket")
        # a directory of so many entries is in a bucket of at least as many: most have fewer
        counts = collected(rows.group_by(bucket).agg(pl.len()))
        full = counts.filter(pl.col("len") >= least)["bucket"]
        table = collected(
            rows.filter(bucket.is_in(full.implode()))
            .group_by("directory")
            .agg(
                pl.len().cast(INT).alias("entries"),
                known_sum((pl.col("kind") == "file").cast(INT)).alias("files"),
                known_sum((pl.col("kind") == "directory").cast(INT)).alias("directories"),
                known_sum(pl.col("size_bytes")).alias("size_bytes"),
            )
            .filter(pl.col("entries") >= least)
        )
        return table.with_columns(
            pl.when(pl.col("directory") == "")
            .then(pl.lit("/"))
            .otherwise("directory")
            .alias("directory")
        ).sort("entries", "directory", descending=[True, False])

    return of_scan(found, _ENTRIES, compute)
