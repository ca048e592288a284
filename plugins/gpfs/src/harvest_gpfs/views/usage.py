"""Views of scans: who and what uses the space, where, and how that grows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from ..aggregation.groupings import DIRECTORY
from ..aggregation.listing import Listing, common_root, list_scans
from ..aggregation.metrics import DEFAULT
from ..aggregation.scans import LATEST
from .common import (
    aggregated_schema,
    check_ages,
    deferred,
    grouping_names,
    largest_first,
    listing,
    metric_names,
    named,
    of_scan,
    rows_of,
)

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["directories", "growth", "usage"]


def usage(
    dataset: DatasetReader,
    by: Sequence[str] = ("uid",),
    metrics: Sequence[str] = DEFAULT,
    scan: str = LATEST,
    root: str | None = None,
    top_depth: int = 1,
    now: str | None = None,
    passwd: Path | None = None,
    group: Path | None = None,
) -> pl.LazyFrame:
    """The view ``gpfs.usage``: sums of one scan by groups, largest first."""
    names, measured = grouping_names(by), metric_names(metrics)
    setting = named(passwd, group, top_depth=top_depth)

    found = listing(dataset, scan, root=root, now=now)
    check_ages(found, names)

    def compute() -> pl.DataFrame:
        table = found.aggregate(names, measured, setting)
        return largest_first(table, *(n for n in ("size_bytes", "inodes") if n in measured))

    return of_scan(found, aggregated_schema(names, measured), compute)


def directories(
    dataset: DatasetReader,
    depth: int = 2,
    metrics: Sequence[str] = DEFAULT,
    scan: str = LATEST,
    root: str | None = None,
) -> pl.LazyFrame:
    """The view ``gpfs.directories``: each directory with all that lies below it, by path."""
    measured = metric_names(metrics)
    setting = named(None, None, depth=depth)

    found = listing(dataset, scan, root=root)
    schema = aggregated_schema([DIRECTORY], measured)
    return of_scan(found, schema, lambda: found.aggregate([DIRECTORY], measured, setting))


_FIRST: Final = "(first scan)"
_UNTIMED: Final = "(time unknown)"
_GROWTH = ("inodes", "files", "directories", "size_bytes", "allocated_bytes")


def growth(
    dataset: DatasetReader,
    by: Sequence[str] = (),
    root: str | None = None,
    top_depth: int = 1,
    passwd: Path | None = None,
    group: Path | None = None,
) -> pl.LazyFrame:
    """The view ``gpfs.growth``: sums of every scan, the newest first, and changes since another.

    ``since`` is the scan before, or says why there is none: the first scan has no changes, nor has
    a list without a time, which has no place among the others.
    A group that a scan does not have counts as nothing there: its end is a row of zeros.  Where
    only one of two scans says the groups of its objects, there are no changes between them.
    """
    names = grouping_names(by)
    setting = named(passwd, group, top_depth=top_depth)
    changes = {"inodes": "inodes_change", "size_bytes": "size_change_bytes"}
    columns = aggregated_schema(names, _GROWTH)
    schema = {
        "scan": pl.String(),
        "scan_time": pl.Datetime("us", "UTC"),
        **columns,
        "since": pl.String(),
        **dict.fromkeys(changes.values(), pl.Int64()),
    }

    def compute() -> pl.DataFrame:
        rows = rows_of(dataset)
        # one root for all, or the same directory would have another name in another scan
        common = root if root is not None or "top" not in names else common_root(rows)
        tables, before, since = [], None, _FIRST
        for scan in list_scans(rows):
            found = Listing(rows.of(scan), scan, common)
            table = found.aggregate(names, _GROWTH, setting)
            earlier = before
            if before is not None and not _comparable(table, before, names):
                earlier = None
            if earlier is not None:
                table = _with_ended(table, earlier, names)
            tables.append(_changed(table, earlier, names, changes).with_columns(
                pl.lit(scan.label).alias("scan"),
                pl.lit(scan.time, pl.Datetime("us", "UTC")).alias("scan_time"),
                pl.lit(since if scan.time is not None else _UNTIMED).alias("since"),
            ))  # fmt: skip
            if scan.time is not None:
                before, since = table, scan.label
        empty = pl.DataFrame(schema=schema)
        return pl.concat([empty, *(table.select(*schema) for table in reversed(tables))])

    return deferred(compute, schema)


def _comparable(table: pl.DataFrame, before: pl.DataFrame, names: tuple[str, ...]) -> bool:
    """Whether both scans say which groups objects are in, or neither does."""
    return all((table[name].count() > 0) == (before[name].count() > 0) for name in names)


def _with_ended(table: pl.DataFrame, before: pl.DataFrame, names: tuple[str, ...]) -> pl.DataFrame:
    """The groups of a scan, and with zeros those that only the scan before had."""
    if not names:
        return table
    ended = before.filter(pl.col("inodes") > 0).join(table, on=names, how="anti", nulls_equal=True)
    zeros = ended.with_columns(pl.lit(0, pl.Int64).alias(name) for name in _GROWTH)
    return pl.concat([table, zeros]).sort(names, nulls_last=True)


def _changed(
    table: pl.DataFrame,
    before: pl.DataFrame | None,
    names: tuple[str, ...],
    changes: dict[str, str],
) -> pl.DataFrame:
    if before is None:
        return table.with_columns(pl.lit(None, pl.Int64).alias(name) for name in changes.values())
    old = [pl.col(column).alias(name) for column, name in changes.items()]
    if names:
        table = table.join(
            before.select(*names, *old, pl.lit(value=True).alias("was there")),
            on=names,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
    else:
        table = pl.concat(
            [table, before.select(*old, pl.lit(value=True).alias("was there"))],
            how="horizontal",
        )
    known = pl.col("was there").is_not_null()
    return table.with_columns(
        (pl.col(column) - pl.when(known).then(name).otherwise(0)).alias(name)
        for column, name in changes.items()
    ).drop("was there")
