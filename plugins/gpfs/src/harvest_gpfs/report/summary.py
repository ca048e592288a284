"""The report ``gpfs.summary``: a file system at a glance.

The views count and sum; here their rows are cut to a length that can be read, with shares of the
whole beside them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import attrs
import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import bytes_in_words
from harvest_report import Column, LazySection, Notes, Report, Section, Table
from harvest_toolkit.frames import fraction, safe_sum

from ..aggregation.groupings import Setting, parse_age
from ..aggregation.scans import label_of
from ..measures import DEFAULT, DIRECTORY
from ..views.common import SUMS, listing
from .lists import odd_names, over_time, paths, quality
from .plots import age_plot, amount, amounts, bars, day, first_and_others, percent, size_plot

_FILES = ("files", "size_bytes", "allocated_bytes")
_OF_ALL = percent("share", "of all")
_TOP = Column("top", format="path")


@attrs.frozen
class _Request:
    """What a report was asked for, and what the list says."""

    data: DatasetReader
    scan: str
    n: int
    ages_known: bool
    allocated_known: bool
    among: dict[str, Any]
    passwd: Path | None
    group: Path | None
    cold: str

    def view(self, name: str, **settings: Any) -> pl.DataFrame:
        return self.data.view(name, scan=self.scan, **settings).collect()

    def amounts(self, prefix: str = "", said: str = "") -> list[Column]:
        return amounts(prefix, said, allocated=self.allocated_known)

    @property
    def counted(self) -> tuple[Column, ...]:
        """Columns of how many objects there are, their bytes, and these as a share."""
        return (Column("inodes", "objects"), *self.amounts(), _OF_ALL)


def summary(
    data: DatasetReader,
    scan: str,
    top_depth: int,
    depth: int,
    cold: str,
    n: int,
    now: str | None = None,
    root: str | None = None,
    passwd: Path | None = None,
    group: Path | None = None,
) -> Report:
    """The report ``gpfs.summary``; its settings are those of the views."""
    found = listing(data, scan, root=root, now=now)
    counted_from = found.given_now or found.scan.time
    # tables are made from these sums, without going through all rows for each
    setting = Setting(depth=depth, cold_days=parse_age(cold))
    for by in (
        (DIRECTORY, "small", *(["cold"] if counted_from else [])),
        ("pool", "fileset", "size_bin", *(["access_age", "modify_age"] if counted_from else [])),
    ):
        found.aggregate(("kind", *by), DEFAULT, setting)
    total = data.view("gpfs.usage", by="", scan=scan).collect().row(0, named=True)
    request = _Request(
        data=data,
        scan=scan,
        n=n,
        allocated_known=total["allocated_bytes"] is not None,
        ages_known=counted_from is not None,
        among={"root": root, "top_depth": top_depth},
        passwd=passwd,
        group=group,
        cold="" if counted_from is None else _COLD.format(cold, day(label_of(counted_from))),
    )
    notes = (*_DEFINITIONS, *(() if request.ages_known else (_NO_TIME,)))
    return Report(
        "A file system at a glance",
        intro=_in_words(total, found.scan.label, found.root),
        sections=[
            LazySection("users", lambda: _owners(request, now, cold)),
            LazySection("directories", lambda: _places(request, depth)),
            *([LazySection("ages", lambda: _ages(request, now, cold))] if counted_from else []),
            LazySection("sizes", lambda: _sizes(request)),
            LazySection("heat", lambda: _heat(request)),
            LazySection("largest", lambda: paths(data, scan, n, passwd)),
            LazySection("growth", lambda: over_time(data, scan, root, top_depth, n)),
            LazySection("odd-names", lambda: odd_names(data, scan, n)),
            LazySection("quality", lambda: quality(data, scan, now)),
            Notes("definitions", notes, title="Definitions"),
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
    volume = "The list says no sizes" if size is None else f"They hold {bytes_in_words(size)}"
    if size is not None and allocated is not None:
        volume += f" and take {bytes_in_words(allocated)} of storage"
    return [f"{many}{linked}.", f"{volume}. Scan: {day(scan)}."]


def _owners(request: _Request, now: str | None, cold: str) -> list[Section]:
    owners = request.view("gpfs.owners", cold=cold, now=now, passwd=request.passwd)
    owners = owners.filter(pl.col("inodes") > 0)
    sections: list[Section] = []
    if owners["uid"].count():
        plot = bars("users-plot", "The users of most bytes", owners, "user")
        sections += [_users_table(owners, request), plot]
    people = {"passwd": request.passwd, "group": request.group}
    groups = request.view("gpfs.usage", by="group", **people)
    if groups["group"].count():
        sections.append(_usage_table("groups", groups, "group", "By group", request))
    return sections


def _users_table(owners: pl.DataFrame, request: _Request) -> Table:
    shares = ["cold_size_bytes", "cold_known_bytes", "small_inodes", "small_known_inodes"]
    rows = first_and_others(owners, "user", [*_FILES, *shares], request.n).with_columns(
        share=_of_all("size_bytes"),
        cold_share=fraction("cold_size_bytes", "cold_known_bytes"),
        small_share=fraction("small_inodes", "small_known_inodes"),
    )
    cold = (amount("cold_size_bytes", "cold"), percent("cold_share", "of theirs"))
    return Table(
        "users",
        rows,
        (
            *("user", "files"),
            *request.amounts(),
            _OF_ALL,
            *(cold if request.ages_known else ()),
            percent("small_share", "small files"),
        ),
        title="By user",
        note=f"{request.cold} Small: below 64 KiB. Of theirs: without directories.".strip(),
    )


def _of_all(column: str) -> pl.Expr:
    return fraction(column, safe_sum(column))


def _usage_table(
    name: str, table: pl.DataFrame, by: str, title: str, request: _Request, note: str | None = None
) -> Table:
    rows = first_and_others(table, by, _FILES, request.n).with_columns(share=_of_all("size_bytes"))
    columns = (Column(by), "files", *request.amounts(), _OF_ALL)
    return Table(name, rows, columns, title=title, note=note)


def _places(request: _Request, depth: int) -> list[Section]:
    top = request.view("gpfs.usage", by="top", **request.among)
    note = "An object of several hard links counts once, at its first path in byte order."
    sections: list[Section] = [
        _usage_table("top", top, "top", "By top-level directory", request, note),
        bars("top-plot", "The top-level directories of most bytes", top, "top"),
    ]
    for by in ("fileset", "pool"):
        table = request.view("gpfs.usage", by=by)
        if table[by].count():
            sections.append(_usage_table(f"{by}s", table, by, f"By {by}", request))
    tree = request.view("gpfs.directories", depth=depth, root=request.among["root"])
    largest = ["size_bytes", "files", "directory"]
    shown = tree.sort(largest, descending=[True, True, False], nulls_last=True).head(2 * request.n)
    total = pl.lit(top.select(safe_sum("size_bytes")).item())
    left_out = tree.height - shown.height
    directories = Table(
        "directories",
        shown.with_columns(share=fraction("size_bytes", total)),
        (Column("directory", format="path"), "files", *request.amounts(), _OF_ALL),
        title="Directories, each with all that lies below it",
        note="Rows overlap: a directory counts in those that it lies in."
        + (f" {left_out:,} smaller directories are left out." if left_out else ""),
    )
    return [*sections, directories]


def _ages(request: _Request, now: str | None, cold: str) -> list[Section]:
    ages = request.view("gpfs.ages", now=now)
    whole = safe_sum("size_bytes").over("time")
    ages = ages.with_columns(share=fraction("size_bytes", whole))
    found = request.view("gpfs.cold", age=cold, now=now, **request.among)
    sums = [name for name in found.columns if name.endswith(("inodes", "bytes"))]
    rows = first_and_others(found, "top", sums, request.n).with_columns(
        share=fraction("cold_size_bytes", "known_size_bytes")
    )
    return [
        age_plot(ages),
        Table(
            "ages",
            ages,
            ("time", "age", *request.counted),
            title="By time since the last access and modification",
            group="time",
            note="Directories are left out.",
        ),
        Table(
            "cold",
            rows,
            (
                _TOP,
                Column("cold_inodes", "cold objects"),
                *request.amounts("cold_", "cold, "),
                percent("share", "of theirs"),
            ),
            title="Cold data by top-level directory",
            note=request.cold,
        ),
    ]


def _sizes(request: _Request) -> list[Section]:
    sizes = request.view("gpfs.sizes")
    extensions = first_and_others(request.view("gpfs.extensions"), "extension", SUMS, request.n)
    extensions = extensions.with_columns(share=_of_all("size_bytes"))
    small = request.view("gpfs.small", **request.among)
    sums = ["small_inodes", "known_inodes", "small_size_bytes", "small_allocated_bytes"]
    small = first_and_others(small, "top", sums, request.n).with_columns(
        share=fraction("small_inodes", "known_inodes")
    )
    return [
        size_plot(sizes),
        Table(
            "sizes",
            sizes.with_columns(share=_of_all("size_bytes")),
            ("size", *request.counted),
            title="By size",
            note="Directories are left out.",
        ),
        Table(
            "small",
            small,
            (
                _TOP,
                Column("small_inodes", "small objects"),
                percent("share", "of theirs"),
                *request.amounts("small_"),
            ),
            title="Small objects (below 64 KiB) by top-level directory",
            note="Directories are left out.",
        ),
        Table("extensions", extensions, ("extension", *request.counted), "By extension"),
    ]


def _heat(request: _Request) -> list[Section]:
    heat = request.view("gpfs.heat")
    if not heat["with_heat"].sum():
        return []
    columns = (
        "pool",
        Column("inodes", "objects"),
        Column("warm", doc="objects with a heat above zero"),
        Column("mean_heat", "mean heat", None, ".6f", doc="of all whose heat is known"),
        Column("hottest", format=".6f"),
    )
    return [Table("heat", heat, columns, title="Heat by pool")]


_DEFINITIONS: Final = (
    "An object with several hard links counts once, at its first path in the order of bytes.",
    "Logical is what files hold, allocated what they take of the storage. Tables show one unit for "
    "a column; their CSV holds exact bytes.",
)
_COLD: Final = (
    "Cold: neither accessed nor modified in the {} before {}; shares are of what is known to be "
    "cold or not."
)
_NO_TIME: Final = "This list does not say when its scan was made: now= shows ages."
