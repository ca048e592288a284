"""The report ``gpfs.change``: growth between two scans, cold data, and the effect of a policy.

All changes are sums of one comparison (the view ``gpfs.change``), so every table adds up to the key
numbers.
"""

from pathlib import Path
from typing import Any, Final

import attrs
import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import count_in_words, share_in_words
from harvest.toolkit.layout import shorten
from harvest_report import Column, LazySection, Report, Section, Table, Tile
from harvest_toolkit.frames import fraction

from ..aggregation.groupings import parse_age
from ..aggregation.listing import list_scans
from ..aggregation.scans import Scan, day
from ..views.change import span
from ..views.common import rows_of
from .plots import amount, amounts, first_and_others, growth_bars, in_bytes, most_changed, percent

_OBJECTS: Final = {
    "old_inodes": "before", "new_inodes": "after", "created": "new", "deleted": "deleted",
    "modified": "modified", "renamed": "renamed",
}  # fmt: skip
_VOLUMES: Final = ("old_bytes", "new_bytes", "growth_bytes", "created_bytes", "deleted_bytes",
                   "grown_bytes", "moved_in_bytes", "moved_out_bytes")  # fmt: skip
_GROWTH: Final = (
    "Growth is new minus deleted data, plus the growth of other objects{}. An object with several "
    "hard links counts once; directories do not count."
)
_RENAMED: Final = (
    "Renamed objects have the same inode and generation under another path. Modified objects have "
    "another size or modification time."
)


@attrs.frozen
class _Request:
    """Settings of the report: those of ``gpfs.change``, and the number of table rows."""

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
    """Build the report ``gpfs.change`` with settings of its views (``from`` is in ``more``)."""
    before, after = span(list_scans(rows_of(data)), more.get("from"), to, over)
    given = {"from": before.label, "to": after.label, "root": root, "top_depth": top_depth}
    request = _Request(data, {**given, "passwd": passwd, "group": group}, n)
    row = request.changes("").row(0, named=True)
    modified = "an unknown number" if row["modified"] is None else f"{row['modified']:,}"
    unmeasured = f"Byte sums leave out {row['unmeasured'] or 0:,} objects without a recorded size."
    return Report(
        "Changes in a file system",
        intro=[
            f"From {day(before.label)} to {day(after.label)}: "
            f"{count_in_words(row['old_inodes'], 'object')} became {row['new_inodes']:,}. "
            f"{modified} were modified, {row['renamed']:,} renamed.",
            *([unmeasured] if row["unmeasured"] and row["growth_bytes"] is not None else []),
        ],
        tiles=lambda: _tiles(request, row, before, after),
        picture="user-plot",
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


def _tiles(request: _Request, row: dict[str, Any], before: Scan, after: Scan) -> list[Tile]:
    days = ""
    if before.time is not None and after.time is not None:
        days = f" in {(after.time - before.time).total_seconds() / 86400:,.3g} days"
    tiles = [
        Tile("growth", in_bytes(row["growth_bytes"], "+"), f"{_percent(row)}{days}".strip()),
        Tile("logical size", in_bytes(row["new_bytes"]), f"{in_bytes(row['old_bytes'])} before"),
        *(
            Tile(label, in_bytes(row[f"{name}_bytes"]), count_in_words(row[name], "object"))
            for label, name in (("new", "created"), ("deleted", "deleted"))
        ),
    ]
    users = request.changes("user").drop_nulls(["user", "growth_bytes"])
    for user in users.filter(pl.col("growth_bytes") > 0).head(1).iter_rows(named=True):
        grown = f"{in_bytes(user['growth_bytes'], '+')}{_percent(user, ', ')}"
        tiles.append(Tile("fastest-growing user", shorten(user["user"], 20, "id"), grown))
    return tiles


def _percent(row: dict[str, Any], before: str = "") -> str:
    """Format growth in percent of the earlier bytes, if any: ``+4.4 %``."""
    percent = row["growth_percent"]
    if percent is None:
        return ""
    return f"{before}{'+' if percent > 0 else ''}{share_in_words(percent / 100)}"


def _by(request: _Request, by: str, title: str, plot: str = "") -> list[Section]:
    """Tabulate bytes by group; with a plot, add the picture and the numbers of objects."""
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
    note = _GROWTH.format(" and data moved from other rows" if moved else "")
    if (total := int(rows["growth_bytes"].cast(pl.Int128).sum())) and rows["growth_bytes"].count():
        note += f" Growth of all rows: {in_bytes(total, '+')}."
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
        f"Directories {request.given['top_depth']} below the root (top_depth). A directory that "
        "has only directories counts as empty."
    )
    sections: list[Section] = []
    for name, state, side, title in (
        ("vanished", "gone", "old", "Deleted directories"),
        ("appeared", "new", "new", "New directories"),
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
                percent("cold_share", "cold share"),
                percent("share", "of all"),
            ),
            title="Cold data by owner",
            note=f"Cold data were neither accessed nor modified in the {parse_age(cold):,} days "
            f"before {day(scan)}. Shares are of data with known times.",
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
            note=f"Days before {day(scan)}. An object with several hard links is freed when all "
            "are removed. Shares are of data with known times.",
        ),
    ]


_TIMES: Final = {"access": "not accessed", "modify": "not modified", "both": "neither"}


def _amounts(table: pl.DataFrame, part: str) -> list[Column]:
    return amounts(f"{part}_", allocated=table[f"{part}_allocated_bytes"].count() > 0)
