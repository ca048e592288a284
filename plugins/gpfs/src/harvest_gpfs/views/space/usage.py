"""Views of sums: by owner, directory, suffix of names, by pool and its heat, and of every scan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.deferred import deferred
from harvest_toolkit.frames import fitted, fraction

from ...aggregation.listing import Listing, common_root, list_scans
from ...measures import DIRECTORY, HEAT_UNIT
from .. import common
from ..common import SUMS, asked, exclusive, largest_first, of_scan

__all__ = ["directories", "extensions", "growth", "heat", "usage"]


def usage(
    dataset: DatasetReader, by: Sequence[str], metrics: Sequence[str], scan: str, **where: Any
) -> pl.LazyFrame:
    """The view ``gpfs.usage``: sums of one scan by groups, largest first."""
    names, measured = exclusive(by), tuple(dict.fromkeys(metrics))
    found, setting = asked(dataset, scan, names, **where)

    def compute() -> pl.DataFrame:
        table = found.aggregate(names, measured, setting)
        return largest_first(table, *(n for n in ("size_bytes", "inodes") if n in measured))

    return of_scan(found, common.aggregated_schema(names, measured), compute)


def directories(
    dataset: DatasetReader, depth: int, metrics: Sequence[str], scan: str, root: str | None = None
) -> pl.LazyFrame:
    """The view ``gpfs.directories``: each directory with all that lies below it, by path."""
    by, measured = [DIRECTORY], tuple(dict.fromkeys(metrics))
    found, setting = asked(dataset, scan, by, root=root, depth=depth)
    schema = common.aggregated_schema(by, measured)
    return of_scan(found, schema, lambda: found.aggregate(by, measured, setting))


def extensions(dataset: DatasetReader, scan: str) -> pl.LazyFrame:
    """The view ``gpfs.extensions``: objects by the suffix of their names, most bytes first."""
    found = common.listing(dataset, scan)

    def compute() -> pl.DataFrame:
        return largest_first(found.aggregate(["extension"], SUMS, directories=False), "size_bytes")

    return of_scan(found, {"extension": common.TEXT, **common.types_of(*SUMS)}, compute)


_WARMTH: Final = ("inodes", "size_bytes", "with_heat", "warm", "warm_bytes")


def heat(dataset: DatasetReader, by: Sequence[str], scan: str) -> pl.LazyFrame:
    """The view ``gpfs.heat``: how warm the files of each pool are, most warm bytes first.

    Directories do not count.
    mean_heat: of the objects whose heat is known, exact to a billionth.
    """
    names = exclusive(by)
    found, setting = asked(dataset, scan, names)

    def compute() -> pl.DataFrame:
        metrics = (*_WARMTH, "heat_units", "hottest")
        table = found.aggregate(names, metrics, setting, directories=False)
        mean = fraction("heat_units", pl.col("with_heat") * float(HEAT_UNIT))
        return largest_first(table.with_columns(mean_heat=mean), "warm_bytes")

    means = dict.fromkeys(("mean_heat", "hottest"), pl.Float64())
    return of_scan(
        found, {**common.aggregated_schema(names), **common.types_of(*_WARMTH), **means}, compute
    )


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
    names, setting = exclusive(by), common.named(**more)
    sums = common.aggregated_schema(names, _SUMS)
    changes = common.types_of(*_CHANGES.values())
    schema = {"scan": common.TEXT, "scan_time": _TIME, **sums, "since": common.TEXT, **changes}

    def compute() -> pl.DataFrame:
        rows = common.rows_of(dataset)
        # one root for all, or the same directory would have another name in another scan
        whole = root if root is not None or "top" not in names else common_root(rows)
        tables, before, since = [pl.DataFrame(schema=schema)], None, _FIRST
        for scan in list_scans(rows):
            table = Listing(rows.of(scan), scan, whole).aggregate(names, _SUMS, setting)
            table = _changed(table, before, names).with_columns(
                pl.lit(scan.label).alias("scan"),
                pl.lit(scan.time, _TIME).alias("scan_time"),
                pl.lit(since if scan.time is not None else _UNTIMED).alias("since"),
            )
            tables.insert(1, fitted(table, schema))
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
        zeros = ended.with_columns(pl.lit(0, ended.schema[name]).alias(name) for name in _SUMS)
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
