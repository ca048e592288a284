"""The longer lists of the report on a scan: paths, scans compared, names, quality."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from harvest import DatasetReader
from harvest_report import Column, Section, Table

from ..aggregation.listing import list_scans
from ..views.common import rows_of
from .plots import growth_plot
from .tables import amount, most, signed, with_others
from .text import day, unit_for

__all__ = ["odd_names", "over_time", "paths", "quality"]


def paths(data: DatasetReader, scan: str, n: int, passwd: Path | None) -> list[Section]:
    """The largest and the oldest objects."""
    given = {} if passwd is None else {"passwd": passwd}
    owner = "uid" if passwd is None else "user"
    sections: list[Section] = []
    for name, title in (("largest", "The largest objects"), ("oldest", "The oldest files")):
        table = data.view(f"gpfs.{name}", scan=scan, n=n, **given).collect()
        if table.is_empty():
            continue
        unit = unit_for(most(table, "size_bytes"))
        sections.append(
            Table(
                name,
                table,
                (
                    Column("path", format="path"),
                    Column(owner, owner, None, "d" if owner == "uid" else None),
                    amount("size_bytes", "logical", unit),
                    Column("modify_time", "modified", None, "%Y-%m-%d"),
                    Column("access_time", "accessed", None, "%Y-%m-%d"),
                ),
                title=title,
            )
        )
    return sections


def over_time(data: DatasetReader, root: str | None, top_depth: int, n: int) -> list[Section]:
    """Growth over all scans that say their time, and what happened between the latest two."""
    timed = [scan for scan in list_scans(rows_of(data)) if scan.time is not None]
    if len(timed) < 2:
        return []
    growth = data.view("gpfs.growth").filter(pl.col("scan_time").is_not_null()).collect()
    unit = unit_for(most(growth, "size_bytes"))
    days = [
        pl.Series(name, [day(label) for label in growth[name].to_list()], pl.String)
        for name in ("scan", "since")
    ]
    allocated_columns = (
        [amount("allocated_bytes", "allocated", unit)] if growth["allocated_bytes"].count() else []
    )
    return [
        growth_plot(growth),
        Table(
            "growth",
            growth.with_columns(days),
            (
                Column("scan"),
                Column("since"),
                Column("inodes", "objects"),
                Column("inodes_change", "change", None, "+,d"),
                amount("size_bytes", "logical", unit),
                signed("size_change_bytes", "change", unit),
                *allocated_columns,
            ),
            title="Growth",
            note="The newest scan first; changes are counted from the scan before.",
        ),
        *_churn(data, root, top_depth, n),
    ]


_CHANGES = ("created", "deleted", "modified", "accessed", "renamed")


def _churn(data: DatasetReader, root: str | None, top_depth: int, n: int) -> list[Section]:
    """Objects and bytes by what happened to them, in a table each."""
    given = {} if root is None else {"root": root}
    churn = data.view("gpfs.churn", top_depth=top_depth, **given).collect()
    volumes = [f"{name}_bytes" for name in _CHANGES]
    unit = unit_for(most(churn, *volumes))
    between = [
        f"Between {day(old)} and {day(new)}; directories are left out."
        for old, new in churn.select("old_scan", "new_scan").head(1).iter_rows()
    ]
    ordered = churn.sort("new_bytes", "top", descending=[True, False], nulls_last=True)
    rows = with_others(ordered, "top", [*_CHANGES, *volumes], n)
    return [
        Table(
            "churn",
            rows,
            (Column("top", format="path"), *map(Column, _CHANGES)),
            title="What happened between the latest two scans: objects",
            note="".join(between),
        ),
        Table(
            "churn-volumes",
            rows,
            (
                Column("top", format="path"),
                *(amount(f"{name}_bytes", name, unit) for name in _CHANGES),
            ),
            title="What happened between the latest two scans: logical bytes",
            note="".join(between),
        ),
    ]


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
            (Column("path", format="path"), Column("oddities"), Column("uid", "uid", None, "d")),
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
