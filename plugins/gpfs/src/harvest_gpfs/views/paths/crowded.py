"""The view ``gpfs.crowded``: directories of very many entries."""

from __future__ import annotations

from typing import Final

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import count_if_known, sum_or_none

from ..common import INT, TEXT, collected, frame_of, listing, of_scan, types_of

__all__ = ["crowded"]

_BUCKETS: Final = 1 << 20
_ENTRIES: Final = {
    "directory": TEXT,
    **types_of("entries", "files", "directories", "size_bytes"),
}


def crowded(dataset: DatasetReader, least: int, scan: str) -> pl.LazyFrame:
    """The view ``gpfs.crowded``: directories of very many entries, the most first.

    Entries are paths listed directly in a directory; ``size_bytes`` is what they hold, at each of
    their paths, as far as it is known.
    A scan may have hundreds of millions of paths, so a hash decides first which of them lie in
    directories that may have so many entries.
    least: entries that a directory has at least.
    """
    found = listing(dataset, scan)

    def compute() -> pl.DataFrame:
        below = frame_of(found).filter(pl.col("path").str.contains("/", literal=True))
        rows = below.select(
            pl.col("path").str.replace(r"/[^/]*$", "").alias("directory"), "kind", "size_bytes"
        )
        bucket = (pl.col("directory").hash() % _BUCKETS).alias("bucket")
        # a directory of so many entries is in a bucket of at least as many: most have fewer
        counts = collected(rows.group_by(bucket).agg(pl.len()))
        full = counts.filter(pl.col("len") >= least)["bucket"]
        table = collected(
            rows.filter(bucket.is_in(full.implode()))
            .group_by("directory")
            .agg(
                entries=pl.len().cast(INT),
                files=count_if_known(pl.col("kind") == "file"),
                directories=count_if_known(pl.col("kind") == "directory"),
                size_bytes=sum_or_none("size_bytes"),
            )
            .filter(pl.col("entries") >= least)
        )
        return table.with_columns(pl.col("directory").replace("", "/")).sort(
            "entries", "directory", descending=[True, False]
        )

    return of_scan(found, _ENTRIES, compute)
