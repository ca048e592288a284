"""The longer lists of the report on a scan: paths, scans compared, names, quality."""

from __future__ import annotations

from typing import Any

import attrs
import polars as pl

from harvest import DatasetReader
from harvest.report import Column, Section, Table

from ..aggregation.listing import list_scans
from ..views.common import rows_of
from .plots import growth_plot
from .tables import amount, in_unit
from .text import unit_for

__all__ = ["odd_names", "over_time", "paths", "quality"]


def paths(data: DatasetReader, scan: str, n: int, passwd: str | None) -> list[Section]:
    """The largest and the oldest objects."""
    given = {} if passwd is None else {"passwd": passwd}
    owner = "uid" if passwd is None else "user"
    sections: list[Section] = []
    for name, title in (("largest", "The largest objects"), ("oldest", "The oldest files")):
        table = data.view(f"gpfs.{name}", scan=scan, n=n, **given).collect()
        if table.is_empty():
            continue
        unit = unit_for(_most(table, "size_bytes"))
        sections.append(
            Table(
                name,
                in_unit(table, unit),
                (
                    Column("path"),
                    Column(owner, owner, None, "d" if owner == "uid" else None),
                    amount("size_bytes", "logical", unit),
                    Column("modify_time", "modified", None, "%Y-%m-%d"),
                    Column("access_time", "accessed", None, "%Y-%m-%d"),
                ),
                title=title,
            )
        )
    return sections


def over_time(data: DatasetReader, root: str | None, top_depth: int | str) -> list[Section]:
    """Growth over all scans that say their time, and what happened between the latest two."""
    timed = [scan for scan in list_scans(rows_of(data)) if scan.time is not None]
    if len(timed) < 2:
        return []
    growth = data.view("gpfs.growth").filter(pl.col("scan_time").is_not_null()).collect()
    unit = unit_for(_most(growth, "size_bytes"))
    allocated_columns = (
        [amount("allocated_bytes", "allocated", unit)] if growth["allocated_bytes"].count() else []
    )
    return [
        growth_plot(growth),
        Table(
            "growth",
            in_unit(growth, unit),
            (
                Column("scan"),
                Column("since"),
                Column("inodes", "objects"),
                Column("inodes_change", "change", None, "+,d"),
                amount("size_bytes", "logical", unit),
                _signed(amount("size_change_bytes", "change", unit)),
                *allocated_columns,
            ),
            title="Growth",
            note="The newest scan first; changes are counted from the scan before.",
        ),
        _churn(data, root, top_depth),
    ]


_CHANGES = ("created", "deleted", "modified", "accessed", "renamed")


def _churn(data: DatasetReader, root: str | None, top_depth: int | str) -> Table:
    given = {} if root is None else {"root": root}
    churn = data.view("gpfs.churn", top_depth=top_depth, **given).collect()
    unit = unit_for(max(_most(churn, f"{name}_bytes") for name in _CHANGES))
    columns = [
        column
        for name in _CHANGES
        for column in (Column(f"{name} objects", name), amount(f"{name}_bytes", name, unit))
    ]
    counted = churn.rename({name: f"{name} objects" for name in _CHANGES})
    between = [
        f"Between {old} and {new}; directories are left out."
        for old, new in churn.select("old_scan", "new_scan").head(1).iter_rows()
    ]
    return Table(
        "churn",
        in_unit(counted, unit),
        (Column("top"), *columns),
        title="What happened between the latest two scans",
        note="".join(between),
    )


def _signed(column: Column) -> Column:
    return attrs.evolve(column, format=f"+{column.format}")


def _most(table: pl.DataFrame, column: str) -> int:
    largest: Any = table[column].max()
    return int(largest or 0)


def odd_names(data: DatasetReader, scan: str, n: int) -> list[Section]:
    """How many names are odd and in what way, and the first of them."""
    found = data.view("gpfs.odd_names", scan=scan)
    kinds = (
        found.select(pl.col("oddities").str.split(", ").alias("oddity"))
        .explode("oddity")
        .group_by("oddity")
        .agg(pl.len().cast(pl.Int64).alias("paths"))
        .sort("paths", "oddity", descending=[True, False])
        .collect(engine="streaming")
    )
    if kinds.is_empty():
        return []
    return [
        Table("odd-names", kinds, title="Names that scripts stumble over"),
        Table(
            "odd-paths",
            found.head(n).collect(engine="streaming"),
            (Column("path"), Column("oddities"), Column("uid", "uid", None, "d")),
            title="The first of them",
        ),
    ]


def quality(data: DatasetReader, scan: str, now: str | None) -> Table:
    """What the list does not say, and what cannot be right: the checks that found something."""
    given = {} if now is None else {"now": now}
    checks = data.view("gpfs.scan_quality", scan=scan, **given).collect()
    return Table(
        "quality",
        checks.filter((pl.col("count") > 0) | (pl.col("finding") == "fact")),
        (Column("finding"), Column("check"), Column("count"), Column("meaning")),
        title="The quality of the scan",
        group="finding",
        note="Gaps are what the list does not say, oddities are worth a look.",
    )
