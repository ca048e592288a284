"""Longer tables of the summary report: paths, changes, names, quality."""

from pathlib import Path

import polars as pl

from harvest import DatasetReader
from harvest_report import Column, Section, Table

from ..aggregation.listing import list_scans
from ..aggregation.scans import ALL, day
from ..views.common import rows_of
from .plots import amount, first_and_others, growth_plot

_CHANGES = ("created", "deleted", "modified", "accessed", "renamed")


def paths(data: DatasetReader, scan: str, n: int, passwd: Path | None) -> list[Section]:
    """Tabulate the largest and the oldest objects."""
    columns = (
        Column("path", format="path"),
        Column("uid", format="d") if passwd is None else "user",
        amount("size_bytes", "logical"),
        Column("modify_time", "modified", None, "%Y-%m-%d"),
        Column("access_time", "accessed", None, "%Y-%m-%d"),
    )
    sections: list[Section] = []
    for name, title in (("largest", "Largest objects"), ("oldest", "Oldest files")):
        table = data.view(f"gpfs.{name}", scan=scan, n=n, passwd=passwd).collect()
        if not table.is_empty():
            sections.append(Table(name, table, columns, title))
    return sections


def over_time(
    data: DatasetReader, scan: str, root: str | None, top_depth: int, n: int
) -> list[Section]:
    """Show growth over all scans with a time, and changes between the latest two."""
    timed = [each for each in list_scans(rows_of(data)) if each.time is not None]
    if scan == ALL or len(timed) < 2:
        return []
    growth = data.view("gpfs.growth").filter(pl.col("scan_time").is_not_null()).collect()
    days = [pl.Series(n, [*map(day, growth[n])], pl.String) for n in ("scan", "since")]
    allocated = [amount("allocated_bytes", "allocated")]
    churn = data.view("gpfs.churn", top_depth=top_depth, root=root).collect()
    volumes = [f"{name}_bytes" for name in _CHANGES]
    between = "".join(
        f"Between {day(old)} and {day(new)}, without directories."
        for old, new in churn.select("old_scan", "new_scan").head(1).iter_rows()
    )
    ordered = churn.sort("new_bytes", "top", descending=[True, False], nulls_last=True)
    rows = first_and_others(ordered, "top", [*_CHANGES, *volumes], n)
    top = Column("top", format="path")
    title = "Changes between the latest two scans"
    bytes_of = map(amount, volumes, _CHANGES)
    return [
        growth_plot(growth),
        Table(
            "growth",
            growth.with_columns(days),
            (
                *("scan", "since"),
                Column("inodes", "objects"),
                Column("inodes_change", "change", None, "+,d"),
                amount("size_bytes", "logical"),
                amount("size_change_bytes", "change", "+"),
                *allocated[: growth["allocated_bytes"].count()],
            ),
            title="Growth by scan",
            note="Changes compare with the previous scan.",
        ),
        Table("churn", rows, (top, *map(Column, _CHANGES)), f"{title}: objects", note=between),
        Table("churn-volumes", rows, (top, *bytes_of), f"{title}: bytes", note=between),
    ]


def odd_names(data: DatasetReader, scan: str, n: int) -> list[Section]:
    """Tabulate the number of names that break scripts, by reason, and the first of them."""
    found = data.view("gpfs.odd_names", scan=scan)
    each = found.select(oddity=pl.col("oddities").str.split(", ")).explode("oddity")
    counts = each.group_by("oddity").agg(paths=pl.len().cast(pl.Int64))
    counts = counts.sort("paths", "oddity", descending=[True, False])
    kinds, first = pl.collect_all([counts, found.head(n)], engine="streaming")
    if kinds.is_empty():
        return []
    columns = (Column("path", format="path"), "oddities", Column("uid", format="d"))
    return [
        Table("odd-names", kinds, title="Names that break scripts"),
        Table("odd-paths", first, columns, title="Examples of these names"),
    ]


def quality(data: DatasetReader, scan: str, now: str | None) -> Table:
    """Tabulate missing and impossible values of the list, from checks that found some."""
    checks = data.view("gpfs.scan_quality", scan=scan, now=now).collect()
    return Table(
        "quality",
        checks.filter((pl.col("count") > 0) | (pl.col("finding") == "fact")),
        ("finding", "check", "count", "meaning"),
        title="Scan quality",
        group="finding",
        note="A gap is a missing value, an oddity is a value to check.",
    )
