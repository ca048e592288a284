"""The report ``gpfs.change``: who grew between two scans, what is cold, what a policy would free.

All changes are sums of one comparison (the view ``gpfs.change``), so every table adds up to the
numbers in the first lines, and what a group grew by is what came, went, grew and moved.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import attrs
import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import bytes_in_words, share_in_words
from harvest_report import Column, LazySection, Report, Section, Table
from harvest_toolkit.frames import fraction

from ..aggregation.listing import list_scans
from ..aggregation.scans import Scan
from ..views.change import span
from ..views.common import rows_of
from .plots import amount, amounts, day, first_and_others, growth_bars, most_changed, percent

_OBJECTS: Final = {
    "old_inodes": "before", "new_inodes": "after", "created": "new", "deleted": "deleted",
    "modified": "modified", "renamed": "renamed",
}  # fmt: skip
_VOLUMES: Final = ("old_bytes", "new_bytes", "growth_bytes", "created_bytes", "deleted_bytes",
                   "grown_bytes", "moved_in_bytes", "moved_out_bytes")  # fmt: skip
_GROWTH: Final = (
    "Growth is what is new, less what was deleted, and what the others grew by{}. An object of "
    "several hard links counts once; directories are left out."
)
_RENAMED: Final = (
    "Renamed: the same inode and generation under another path. Modified: another size or time of "
    "modification."
)


@attrs.frozen
class _Request:
    """What the report was asked for: settings of ``gpfs.change``, and rows of a table."""

    data: DatasetReader
    given: dict[str, Any]
    n: int

    def changes(self, by: str) -> pl.DataFrame:
        return self.data.view("gpfs.change", by=by, **self.given).collect()


def change(
    data: DatasetReader,
    cold: str,
    policy: str,
    top_depth: int,
    n: int,
    to: str | None = None,
    over: str | None = None,
    root: str | None = None,
    passwd: Path | None = None,
    group: Path | None = None,
    **more: str,
) -> Report:
    """The report ``gpfs.change``; its settings are those of the views (``from`` is in ``more``)."""
    before, after = span(list_scans(rows_of(data)), more.get("from"), to, over)
    given = {"from": before.label, "to": after.label, "root": root, "top_depth": top_depth}
    request = _Request(data, {**given, "passwd": passwd, "group": group}, n)
    row = request.changes("").row(0, named=True)
    return Report(
        "What changed in a file system",
        intro=[*_in_words(row, before, after), *_most_changed(request)],
        sections=[
            LazySection("users", lambda: _by(request, "user", "By user", "Growth by user")),
            LazySection(
                "directories",
                lambda: _by(request, "top", "By directory", "Growth by directory"),
            ),
            LazySection("ends", lambda: _ends(request)),
            LazySection("groups", lambda: _by(request, "group", "By group")),
            LazySection("filesets", lambda: _by(request, "fileset", "By fileset")),
            LazySection("pools", lambda: _by(request, "pool", "By storage pool")),
            LazySection("cold", lambda: _age(request, after, cold, policy)),
        ],
    )


def _in_words(row: dict[str, Any], before: Scan, after: Scan) -> list[str]:
    days = ""
    if before.time is not None and after.time is not None:
        days = f" ({(after.time - before.time).total_seconds() / 86400:,.3g} days)"
    old, new = row["old_bytes"], row["new_bytes"]
    volume = "one of the lists says no sizes, so growth is not known"
    if old is not None and new is not None:
        volume = f"{bytes_in_words(old)} became {bytes_in_words(new)} ({_signed(row)})"
    modified = "unknown how many" if row["modified"] is None else f"{row['modified']:,}"
    said = [
        f"From {day(before.label)} to {day(after.label)}{days}: {volume}.",
        f"{row['old_inodes']:,} objects became {row['new_inodes']:,}: {row['created']:,} are new, "
        f"{row['deleted']:,} were deleted, {modified} modified, {row['renamed']:,} renamed.",
    ]
    if row["unmeasured"] and row["growth_bytes"] is not None:
        said.append(
            f"Bytes leave out {row['unmeasured']:,} objects whose size a list does not say."
        )
    return said


def _most_changed(request: _Request) -> list[str]:
    """The user and the directory that grew, and that shrank, by most bytes, where one did."""
    found: dict[str, list[str]] = {"Grew": [], "Shrank": []}
    for by, title in (("user", "user"), ("top", "directory")):
        known = request.changes(by).drop_nulls([by, "growth_bytes"])
        for (verb, said), end in zip(found.items(), (known.head(1), known.tail(1)), strict=True):
            for row in end.iter_rows(named=True):
                if row["growth_bytes"] and (row["growth_bytes"] > 0) == (verb == "Grew"):
                    said.append(f"the {title} {row[by]} ({_signed(row)})")
    return [f"{verb} by most bytes: {' and '.join(said)}." for verb, said in found.items() if said]


def _signed(row: dict[str, Any]) -> str:
    """``+5.10 GiB, +4.4 %``: growth in bytes, and in percent where there was something."""
    grown = f"{'+' if row['growth_bytes'] >= 0 else ''}{bytes_in_words(row['growth_bytes'])}"
    if row["growth_percent"] is None:
        return grown
    sign = "+" if row["growth_percent"] >= 0 else ""
    return f"{grown}, {sign}{share_in_words(row['growth_percent'] / 100)}"


def _by(request: _Request, by: str, title: str, plot: str = "") -> list[Section]:
    """Volumes by a group; with a plot the picture of them, and objects too."""
    table = request.changes(by)
    if not table[by].count():
        return []
    table = most_changed(table, request.n)
    sections: list[Section] = [_volumes(request, table, by, title)]
    if plot:
        if table["growth_bytes"].count():
            sections.append(growth_bars(f"{by}-plot", plot, table, by))
        rows = first_and_others(table, by, list(_OBJECTS), request.n)
        columns = (_group(by), *(Column(name, label) for name, label in _OBJECTS.items()))
        sections.append(Table(f"{by}-objects", rows, columns, f"{title}: objects", note=_RENAMED))
    return sections


def _volumes(request: _Request, table: pl.DataFrame, by: str, title: str) -> Table:
    rows = first_and_others(table, by, _VOLUMES, request.n).with_columns(
        moved_bytes=pl.col("moved_in_bytes") - pl.col("moved_out_bytes"),
        growth=fraction("growth_bytes", "old_bytes"),
    )
    moved = (rows["moved_bytes"] != 0).any()
    note = _GROWTH.format(" and moved here from other rows" if moved else "")
    if (total := int(rows["growth_bytes"].cast(pl.Int128).sum())) and rows["growth_bytes"].count():
        note += f" Growth of all rows together: {'+' if total > 0 else ''}{bytes_in_words(total)}."
    return Table(
        f"{by}s" if by != "top" else "directories",
        rows,
        (
            _group(by),
            amount("old_bytes", "before"),
            amount("new_bytes", "after"),
            amount("growth_bytes", "growth", "+"),
            Column("growth", "growth", None, "+,.1%"),
            amount("created_bytes", "new"),
            amount("deleted_bytes", "deleted"),
            amount("grown_bytes", "others", "+"),
            *([amount("moved_bytes", "moved here", "+")] if moved else []),
        ),
        title=title,
        note=note,
    )


def _group(by: str) -> Column:
    return Column("top", "directory", format="path") if by == "top" else Column(by)


def _ends(request: _Request) -> list[Section]:
    table = request.changes("top")
    note = (
        f"Directories {request.given['top_depth']} below the root (top_depth); one that holds "
        "nothing but directories counts as empty."
    )
    sections: list[Section] = []
    for name, state, side, title in (
        ("vanished", "gone", "old", "Directories that vanished"),
        ("appeared", "new", "new", "Directories that are new"),
    ):
        objects, size = f"{side}_inodes", f"{side}_bytes"
        found = table.filter(state=state)
        found = found.sort(size, "top", descending=[True, False], nulls_last=True)
        rows = first_and_others(found, "top", [objects, size], request.n)
        columns = (_group("top"), Column(objects, "objects"), amount(size, "logical"))
        if not found.is_empty():
            sections.append(Table(name, rows, columns, title=title, note=note))
    return sections


def _age(request: _Request, after: Scan, cold: str, policy: str) -> list[Section]:
    if after.time is None:
        return []
    scan = after.label
    of_scan = {"scan": scan, "cold": cold, "passwd": request.given["passwd"]}
    owners = request.data.view("gpfs.owners", **of_scan).collect()
    freed = request.data.view("gpfs.policy", scan=scan, policy=policy).collect()
    sums = ["cold_inodes", "cold_size_bytes", "cold_allocated_bytes", "cold_known_bytes"]
    owners = owners.sort("cold_size_bytes", "uid", descending=[True, False], nulls_last=True)
    rows = first_and_others(owners, "user", sums, request.n).with_columns(
        cold_share=fraction("cold_size_bytes", "cold_known_bytes"),
        share=fraction("cold_size_bytes", pl.lit(owners["all_cold_known_bytes"].first())),
    )
    return [
        Table(
            "cold",
            rows,
            (
                "user",
                Column("cold_inodes", "cold objects"),
                *_amounts(owners, "cold"),
                percent("cold_share", "of theirs"),
                percent("share", "of all"),
            ),
            title="Cold data by owner",
            note=f"Cold: neither accessed nor modified in the {cold} before {day(scan)}. "
            "Shares are of what is known to be cold or not.",
        ),
        Table(
            "policy",
            freed.with_columns(
                pl.col("time").replace(_TIMES),
                inodes_share=fraction("freed_inodes", "known_inodes"),
            ),
            (
                Column("days", format="d"),
                Column("time", "files that were"),
                Column("freed_inodes", "objects"),
                percent("inodes_share", "of all"),
                *_amounts(freed, "freed"),
                percent("freed_share", "of bytes"),
            ),
            title="What a policy would free",
            group="days",
            note=f"By days before {day(scan)}. An object of several hard links is freed when all "
            "are removed. Shares are of what is known to be older or not.",
        ),
    ]


_TIMES: Final = {"access": "not accessed", "modify": "not modified", "both": "neither"}


def _amounts(table: pl.DataFrame, part: str) -> list[Column]:
    return amounts(f"{part}_", allocated=table[f"{part}_allocated_bytes"].count() > 0)
