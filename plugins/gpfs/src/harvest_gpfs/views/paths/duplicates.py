"""The view ``gpfs.duplicates``: names that may be copies.

It groups by names, of which a scan may have hundreds of millions.  Sizes decide which share of them
is looked at, so that memory holds a share; the names decide what is one group.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import fraction

from ...aggregation.bins import parse_size
from ...aggregation.links import IDENTITY, passes_for
from ...aggregation.listing import BUDGET
from ..common import INT, TEXT, collected, frame_of, listing, of_scan, types_of

__all__ = ["duplicates"]

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
            sums.append(
                copies.select(
                    all_names=pl.len(),
                    all_extra_copies=(pl.col("copies") - 1).sum(),
                    all_extra_bytes=pl.col("extra_bytes").sum(),
                )
            )
        (all_bytes,) = found.aggregate([], ["size_bytes"], directories=False).row(0)
        sizes_known = (
            total or collected(rows.select(pl.col("size_bytes").is_not_null().any())).item()
        )
        if not sizes_known and not collected(rows.head(1)).is_empty():
            # that no name occurs twice is not known either
            return pl.DataFrame({name: [None] for name in _COPIES})
        first = pl.concat(firsts).sort(*_ORDER, descending=[True, False, False]).head(n)
        return first.join(pl.concat(sums).sum(), how="cross").with_columns(
            extra_share=fraction("all_extra_bytes", pl.lit(all_bytes, INT))
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
        ((pl.col("copies") - 1) * pl.col("size_bytes")).alias("extra_bytes")
    )
    return collected(several).sort(*_ORDER, descending=[True, False, False])
