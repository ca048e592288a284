"""The report ``gpfs.summary``: a file system at a glance.

The views count and sum; here their rows are put in order, cut to a length that can be read, with
shares of the whole beside them.  What a number means stands below its table.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import attrs
import polars as pl

from harvest import DatasetReader
from harvest_report import Column, Notes, Report, Section, Table

from ..aggregation.scans import ALL, LATEST, label_of
from ..views.common import listing, share_of
from .lists import odd_names, over_time, paths, quality
from .plots import age_plot, bars, size_plot
from .tables import amount, most, with_others
from .text import Unit, bytes_text, day, unit_for

__all__ = ["summary"]

_SUMS = ("files", "size_bytes", "allocated_bytes")


@attrs.frozen
class _Request:
    """What a report was asked for, and the unit of its tables."""

    data: DatasetReader
    scan: str
    n: int
    unit: Unit
    ages_known: bool
    allocated_known: bool
    among: dict[str, Any]
    people: dict[str, Any]
    cold: str

    def view(self, name: str, **settings: Any) -> pl.DataFrame:
        """The rows of a view of the scan."""
        given = {key: value for key, value in settings.items() if value is not None}
        return self.data.view(name, scan=self.scan, **given).collect()

    def amounts(self, prefix: str = "", said: str = "") -> tuple[Column, ...]:
        """Columns of logical bytes and, where the list says them, allocated bytes."""
        columns = [amount(f"{prefix}size_bytes", f"{said}logical", self.unit)]
        if self.allocated_known:
            columns.append(amount(f"{prefix}allocated_bytes", f"{said}allocated", self.unit))
        return tuple(columns)


def summary(
    data: DatasetReader,
    scan: str = LATEST,
    now: str | None = None,
    root: str | None = None,
    top_depth: int = 1,
    depth: int = 2,
    cold: str | int = "1y",
    n: int = 20,
    passwd: Path | None = None,
    group: Path | None = None,
) -> Report:
    """The report ``gpfs.summary``; its settings are those of the views."""
    found = listing(data, str(scan), root=root, now=now)
    total = data.view("gpfs.usage", by="", scan=scan).collect().row(0, named=True)
    request = _Request(
        data=data,
        scan=str(scan),
        n=n,
        unit=unit_for(max(total["size_bytes"] or 0, total["allocated_bytes"] or 0)),
        allocated_known=total["allocated_bytes"] is not None,
        ages_known=(found.given_now or found.scan.time) is not None,
        among={"root": root, "top_depth": top_depth},
        people={"passwd": passwd, "group": group},
        cold=_cold_in_words(cold, found.given_now or found.scan.time),
    )
    return Report(
        "A file system at a glance",
        intro=_in_words(total, found.scan.label, found.root),
        sections=[
            *_owners(request, now, cold),
            *_places(request, depth),
            *(_ages(request, now, cold) if request.ages_known else []),
            *_sizes(request),
            *_heat(request),
            *paths(data, request.scan, request.n, passwd),
            *(over_time(data, root, top_depth, request.n) if request.scan != ALL else []),
            *odd_names(data, request.scan, request.n),
            quality(data, request.scan, now),
            _definitions(request),
        ],
    )


def _in_words(total: dict[str, Any], scan: str, root: str) -> list[str]:
    many = f"{total['inodes']:,} objects below {root.rstrip('/') or root}"
    if total["files"] is None:
        many += ", whose kinds the list does not say"
    else:
        many += f": {total['files']:,} files"
    if total["directories"]:
        many += f" and {total['directories']:,} directories"
    linked = f", {total['hard_links']:,} further hard links" if total["hard_links"] else ""
    size, allocated = total["size_bytes"], total["allocated_bytes"]
    volume = "The list says no sizes"
    if size is not None:
        volume = f"They hold {bytes_text(size)}"
        volume += f" and take {bytes_text(allocated)} of storage" if allocated is not None else ""
    return [f"{many}{linked}.", f"{volume}. Scan: {day(scan)}."]


def _cold_in_words(cold: str | int, now: datetime | None) -> str:
    if now is None:
        return ""
    return (
        f"Cold: neither accessed nor modified in the {cold} before {day(label_of(now))}; shares "
        "are of what is known to be cold or not."
    )


def _owners(request: _Request, now: str | None, cold: str | int) -> list[Section]:
    sections: list[Section] = []
    owners = request.view(
        "gpfs.owners", cold=cold, now=now, passwd=request.people["passwd"]
    ).filter(pl.col("inodes") > 0)
    if owners["uid"].count():
        sections += [
            _users_table(owners, request),
            bars("users-plot", "The users of most bytes", owners, "user"),
        ]
    groups = request.view("gpfs.usage", by="group", **request.people)
    if groups["group"].count():
        sections.append(_usage_table("groups", groups, "group", "By group", request))
    return sections


def _users_table(owners: pl.DataFrame, request: _Request) -> Table:
    shares = ["cold_size_bytes", "cold_known_bytes", "small_inodes", "small_known_inodes"]
    rows = with_others(owners, "user", [*_SUMS, *shares], request.n).with_columns(
        _of_all("size_bytes"),
        share_of("cold_size_bytes", "cold_known_bytes").alias("cold_share"),
        share_of("small_inodes", "small_known_inodes").alias("small_share"),
    )
    cold = (
        amount("cold_size_bytes", "cold", request.unit),
        Column("cold_share", "of theirs", None, ".1%"),
    )
    return Table(
        "users",
        rows,
        (
            Column("user"),
            Column("files"),
            *request.amounts(),
            _OF_ALL,
            *(cold if request.ages_known else ()),
            Column("small_share", "small files", None, ".1%"),
        ),
        title="By user",
        note=f"{request.cold} Small: below 64 KiB. Of theirs: without directories.".strip(),
    )


_OF_ALL = Column("share", "of all", None, ".1%")


def _of_all(column: str) -> pl.Expr:
    """A column as a share of its sum."""
    return share_of(column, pl.col(column).sum()).alias("share")


def _usage_table(name: str, table: pl.DataFrame, by: str, title: str, request: _Request) -> Table:
    return Table(
        name,
        with_others(table, by, _SUMS, request.n).with_columns(_of_all("size_bytes")),
        (Column(by), Column("files"), *request.amounts(), _OF_ALL),
        title=title,
        note="An object of several hard links counts once, at its first path in byte order."
        if by == "top"
        else None,
    )


def _places(request: _Request, depth: int) -> list[Section]:
    top = request.view("gpfs.usage", by="top", **request.among)
    sections: list[Section] = [
        _usage_table("top", top, "top", "By top-level directory", request),
        bars("top-plot", "The top-level directories of most bytes", top, "top"),
    ]
    for by in ("fileset", "pool"):
        table = request.view("gpfs.usage", by=by)
        if table[by].count():
            sections.append(_usage_table(f"{by}s", table, by, f"By {by}", request))
    tree = request.view("gpfs.directories", depth=depth, root=request.among["root"])
    largest = ["size_bytes", "files", "directory"]
    shown = tree.sort(largest, descending=[True, True, False], nulls_last=True).head(2 * request.n)
    total = top["size_bytes"].sum()
    left_out = tree.height - shown.height
    sections.append(
        Table(
            "directories",
            shown.with_columns(share_of("size_bytes", total).alias("share")),
            (Column("directory", format="path"), Column("files"), *request.amounts(), _OF_ALL),
            title="Directories, each with all that lies below it",
            note="Rows overlap: a directory counts in those that it lies in."
            + (f" {left_out:,} smaller directories are left out." if left_out else ""),
        )
    )
    return sections


def _ages(request: _Request, now: str | None, cold: str | int) -> list[Section]:
    ages = request.view("gpfs.ages", now=now)
    found = request.view("gpfs.cold", age=cold, now=now, **request.among)
    sums = [name for name in found.columns if name.endswith(("inodes", "bytes"))]
    rows = with_others(found, "top", sums, request.n).with_columns(
        share_of("cold_size_bytes", "known_size_bytes").alias("share")
    )
    whole = pl.col("size_bytes").sum().over("time")
    ages = ages.with_columns(share_of("size_bytes", whole).alias("share"))
    return [
        age_plot(ages),
        Table(
            "ages",
            ages,
            (
                Column("time"),
                Column("age"),
                Column("inodes", "objects"),
                *request.amounts(),
                _OF_ALL,
            ),
            title="By time since the last access and modification",
            group="time",
            note="Directories are left out.",
        ),
        Table(
            "cold",
            rows,
            (
                Column("top", format="path"),
                Column("cold_inodes", "cold objects"),
                *request.amounts("cold_", "cold, "),
                Column("share", "of theirs", None, ".1%"),
            ),
            title="Cold data by top-level directory",
            note=request.cold,
        ),
    ]


def _sizes(request: _Request) -> list[Section]:
    sizes = request.view("gpfs.sizes")
    small = request.view("gpfs.small", **request.among)
    extensions = request.view("gpfs.extensions")
    sums = ["small_inodes", "known_inodes", "small_size_bytes", "small_allocated_bytes"]
    small_rows = with_others(small, "top", sums, request.n).with_columns(
        share_of("small_inodes", "known_inodes").alias("share")
    )
    objects = ("inodes", "size_bytes", "allocated_bytes")
    # amounts of small files need a unit of their own
    own = attrs.evolve(
        request, unit=unit_for(most(small_rows, "small_size_bytes", "small_allocated_bytes"))
    )
    small_amounts = own.amounts("small_")
    counted = (Column("inodes", "objects"), *request.amounts())
    return [
        size_plot(sizes),
        Table(
            "sizes",
            sizes.with_columns(_of_all("size_bytes")),
            (Column("size"), *counted, _OF_ALL),
            title="By size",
            note="Directories are left out.",
        ),
        Table(
            "small",
            small_rows,
            (
                Column("top", format="path"),
                Column("small_inodes", "small objects"),
                Column("share", "of theirs", None, ".1%"),
                *small_amounts,
            ),
            title="Small objects (below 64 KiB) by top-level directory",
            note="Directories are left out.",
        ),
        Table(
            "extensions",
            with_others(extensions, "extension", objects, request.n).with_columns(
                _of_all("size_bytes")
            ),
            (Column("extension"), *counted, _OF_ALL),
            title="By extension",
        ),
    ]


def _heat(request: _Request) -> list[Section]:
    heat = request.view("gpfs.heat")
    if not heat["with_heat"].sum():
        return []
    return [
        Table(
            "heat",
            heat,
            (
                Column("pool"),
                Column("inodes", "objects"),
                Column("warm", doc="objects with a heat above zero"),
                Column("mean_heat", "mean heat", None, ".6f", doc="of all whose heat is known"),
                Column("hottest", "hottest", None, ".6f"),
            ),
            title="Heat by pool",
        )
    ]


def _definitions(request: _Request) -> Notes:
    items = [
        "An object with several hard links counts once, at its first path in the order of bytes.",
        "Logical is what files hold, allocated what they take of the storage. Tables show one "
        "unit for a column; their CSV holds exact bytes.",
    ]
    if not request.ages_known:
        items.append("This list does not say when its scan was made: now= shows ages.")
    return Notes("definitions", items, title="Definitions")
