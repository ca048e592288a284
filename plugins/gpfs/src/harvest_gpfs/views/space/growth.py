"""The view ``gpfs.growth``: sums of every scan, and how they changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.deferred import deferred

from ...aggregation.listing import Listing, common_root, list_scans
from ..common import TEXT, aggregated_schema, exclusive, named, rows_of, types_of

__all__ = ["growth"]

_FIRST: Final = "(first scan)"
_UNTIMED: Final = "(time unknown)"
_SUMS: Final = ("inodes", "files", "directories", "size_bytes", "allocated_bytes")
_CHANGES: Final = {"inodes": "inodes_change", "size_bytes": "size_change_bytes"}
_TIME: Final = pl.Datetime("us", "UTC")


def growth(
    dataset: DatasetReader, by: Sequence[str], root: str | None = None, **more: Any
) -> pl.LazyFrame:
    """The view ``gpfs.growth``: sums of every scan, the newest first, and changes since another.

    ``since`` is the scan before, or says why there is none: the first scan has no changes, nor has
    a list without a time, which has no place among the others.
    A group that a scan does not have counts as nothing there: its end is a row of zeros.  Where
    only one of two scans says the groups of its objects, there are no changes between them.
    """
    names, setting = exclusive(by), named(**more)
    sums = aggregated_schema(names, _SUMS)
    changes = types_of(*_CHANGES.values())
    schema = {"scan": TEXT, "scan_time": _TIME, **sums, "since": TEXT, **changes}

    def compute() -> pl.DataFrame:
        rows = rows_of(dataset)
        # one root for all, or the same directory would have another name in another scan
        common = root if root is not None or "top" not in names else common_root(rows)
        tables, before, since = [pl.DataFrame(schema=schema)], None, _FIRST
        for scan in list_scans(rows):
            table = Listing(rows.of(scan), scan, common).aggregate(names, _SUMS, setting)
            table = _changed(table, before, names).with_columns(
                pl.lit(scan.label).alias("scan"),
                pl.lit(scan.time, _TIME).alias("scan_time"),
                pl.lit(since if scan.time is not None else _UNTIMED).alias("since"),
            )
            tables.insert(1, table.select(*schema))
            if scan.time is not None:
                before, since = table.select(*sums), scan.label
        return pl.concat(tables)

    return deferred(compute, schema)


def _changed(
    table: pl.DataFrame, before: pl.DataFrame | None, names: tuple[str, ...]
) -> pl.DataFrame:
    """The groups of a scan, those that only the scan before had with zeros, and their changes."""
    # both scans say which groups objects are in, or neither does
    if before is None or any(
        (table[name].count() > 0) != (before[name].count() > 0) for name in names
    ):
        return table.with_columns(pl.lit(None, pl.Int64).alias(n) for n in _CHANGES.values())
    if names:
        ended = before.filter(pl.col("inodes") > 0).join(
            table, on=names, how="anti", nulls_equal=True
        )
        zeros = ended.with_columns(pl.lit(0, pl.Int64).alias(name) for name in _SUMS)
        table = pl.concat([table, zeros]).sort(names, nulls_last=True)
    old = before.select(
        *names,
        *(pl.col(column).alias(name) for column, name in _CHANGES.items()),
        pl.lit(value=True).alias("was there"),
    )
    if names:
        table = table.join(old, on=names, how="left", nulls_equal=True, maintain_order="left")
    else:
        table = table.join(old, how="cross")
    return table.with_columns(
        (pl.col(column) - pl.when("was there").then(name).otherwise(0)).alias(name)
        for column, name in _CHANGES.items()
    ).drop("was there")
