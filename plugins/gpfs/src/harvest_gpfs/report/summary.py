"""The report ``gpfs.summary``: a file system at a glance.

The views count and sum; here their rows are put in order, cut to a length that can be read, and
in units that people use.
"""

from __future__ import annotations

from typing import Any

import attrs
import polars as pl

from harvest import DatasetReader
from harvest.report import Column, Notes, Report, Section, Table

from ..aggregation.scans import ALL, LATEST, label_of
from ..views.common import listing, whole
from .lists import odd_names, over_time, paths, quality
from .plots import age_plot, bars, size_plot
from .tables import amount, in_unit, with_others
from .text import Unit, bytes_text, unit_for

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
    top_depth: int | str = 1,
    depth: int | str = 2,
    cold: str | int = "1y",
    n: int | str = 20,
    passwd: str | None = None,
    group: str | None = None,
) -> Report:
    """The report ``gpfs.summary``; its settings are those of the views."""
    found = listing(data, str(scan), root=root, now=now)
    total = data.view("gpfs.usage", by="", scan=scan).collect().row(0, named=True)
    request = _Request(
        data=data,
        scan=str(scan),
        n=whole(n, "n", 1),
        unit=unit_for(max(total["size_bytes"] or 0, total["allocated_bytes"] or 0)),
        allocated_known=total["allocated_bytes"] is not None,
        ages_known=(found.given_now or found.scan.time) is not None,
        among={"root": root, "top_depth": top_depth},
        people={"passwd": passwd, "group": group},
    )
    return Report(
        "A file system at a glance",
        intro=_in_words(total, found.scan.label, found.root),
        sections=[
            *_owners(request),
            *_places(request, depth),
            *(_ages(request, now, cold) if request.ages_known else []),
            *_sizes(request),
            *_heat(request),
            *paths(data, request.scan, request.n, passwd),
            *(over_time(data, root, top_depth) if request.scan != ALL else []),
            *odd_names(data, request.scan, request.n),
            quality(data, request.scan, now),
            _definitions(request, label_of(found.now) if request.ages_known else None, cold),
        ],
    )


def _in_words(total: dict[str, Any], scan: str, root: str) -> list[str]:
    many = f"{total['inodes']:,} objects below {root.rstrip('/') or root}: {total['files']:,} files"
    if total["directories"]:
        many += f" and {total['directories']:,} directories"
    linked = f", {total['hard_links']:,} further hard links" if total["hard_links"] else ""
    size, allocated = total["size_bytes"], total["allocated_bytes"]
    volume = "The list says no sizes"
    if size is not None:
        volume = f"They hold {bytes_text(size)}"
        volume += f" and take {bytes_text(allocated)} of storage" if allocated is not None else ""
    return [f"{many}{linked}.", f"{volume}. Scan: {scan}."]


def _owners(request: _Request) -> list[Section]:
    sections: list[Section] = []
    for by, title in (("user", "By user"), ("group", "By group")):
        table = request.view("gpfs.usage", by=by, **request.people)
        if not table[by].count():
            continue
        sections.append(_usage_table(f"{by}s", table, by, title, request))
        if by == "user":
            sections.append(bars("users-plot", "The users of most bytes", table, by))
    return sections


def _usage_table(name: str, table: pl.DataFrame, by: str, title: str, request: _Request) -> Table:
    rows = with_others(table, by, _SUMS, request.n)
    return Table(
        name,
        in_unit(rows, request.unit),
        (Column(by), Column("files"), *request.amounts()),
        title=title,
    )


def _places(request: _Request, depth: int | str) -> list[Section]:
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
    # the largest, shown in the order of the tree
    shown = tree.sort(largest, descending=[True, True, False], nulls_last=True).head(2 * request.n)
    left_out = tree.height - shown.height
    sections.append(
        Table(
            "directories",
            in_unit(shown.sort("directory", nulls_last=True), request.unit),
            (Column("directory"), Column("files"), *request.amounts()),
            title="Directories, each with all that lies below it",
            note=f"{left_out:,} smaller directories are left out." if left_out else None,
        )
    )
    return sections


def _ages(request: _Request, now: str | None, cold: str | int) -> list[Section]:
    ages = request.view("gpfs.ages", now=now)
    found = request.view("gpfs.cold", age=cold, now=now, **request.among)
    sums = [name for name in found.columns if name.endswith(("inodes", "bytes"))]
    rows = with_others(found, "top", sums, request.n).with_columns(
        pl.when(pl.col("size_bytes") > 0)
        .then(pl.col("cold_size_bytes") / pl.col("size_bytes"))
        .alias("share")
    )
    return [
        age_plot(ages),
        Table(
            "ages",
            in_unit(ages, request.unit),
            (
                Column("time"),
                Column("age"),
                Column("inodes", "objects"),
                *request.amounts(),
            ),
            title="By time since the last access and modification",
            group="time",
        ),
        Table(
            "cold",
            in_unit(rows, request.unit),
            (
                Column("top"),
                Column("cold_inodes", "cold objects"),
                *request.amounts("cold_", "cold, "),
                Column("share", "of all", None, ".1%", doc="cold logical bytes of all"),
            ),
            title="Cold data by top-level directory",
        ),
    ]


def _sizes(request: _Request) -> list[Section]:
    sizes = request.view("gpfs.sizes")
    small = request.view("gpfs.small", **request.among)
    extensions = request.view("gpfs.extensions")
    sums = ["small_inodes", "inodes", "small_size_bytes", "small_allocated_bytes"]
    small_rows = with_others(small, "top", sums, request.n).with_columns(
        (pl.col("small_inodes") / pl.col("inodes")).alias("share")
    )
    objects = ("inodes", "size_bytes", "allocated_bytes")
    counted = (Column("inodes", "objects"), *request.amounts())
    return [
        size_plot(sizes),
        Table(
            "sizes",
            in_unit(sizes, request.unit),
            (Column("size"), *counted),
            title="By size",
        ),
        Table(
            "small",
            in_unit(small_rows, request.unit),
            (
                Column("top"),
                Column("small_inodes", "small objects"),
                Column("share", "of all", None, ".1%"),
                *request.amounts("small_"),
            ),
            title="Small objects (below 64 KiB) by top-level directory",
        ),
        Table(
            "extensions",
            in_unit(with_others(extensions, "extension", objects, request.n), request.unit),
            (Column("extension"), *counted),
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


def _definitions(request: _Request, now: str | None, cold: str | int) -> Notes:
    items = [
        "An object with several hard links counts once, at its first path in the order of bytes.",
        "Ages, sizes, heat, extensions, cold and small data leave directories out.",
        "The views hold exact bytes: harvest view gpfs.usage DATASET -o usage.csv.",
    ]
    if now is not None:
        items.append(f"Ages are counted from {now}; cold is what neither access nor "
                     f"modification touched for {cold}.")  # fmt: skip
    else:
        items.append("This list does not say when its scan was made: now= shows ages.")
    return Notes("definitions", items, title="Definitions")
