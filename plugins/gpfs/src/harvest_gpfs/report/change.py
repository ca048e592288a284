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
from harvest.toolkit.amounts import share_in_words
from harvest_report import Column, Report, Section, Table

from ..aggregation.listing import list_scans
from ..aggregation.scans import Scan
from ..views.change import span
from ..views.common import rows_of, share_of
from ..views.policy import POLICY
from .plots import growth_bars
from .tables import amount, most, signed, with_others
from .text import Unit, bytes_text, day, unit_for

__all__ = ["change"]

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
    """What the report was asked for."""

    data: DatasetReader
    wish: dict[str, Any]
    people: dict[str, Path]
    n: int
    unit: Unit

    def changes(self, by: str) -> pl.DataFrame:
        """The rows of ``gpfs.change``."""
        return self.data.view("gpfs.change", by=by, **self.wish, **self.people).collect()


def change(
    data: DatasetReader,
    to: str | None = None,
    over: str | int | None = None,
    cold: str | int = "1y",
    policy: str = POLICY,
    root: str | None = None,
    top_depth: int = 2,
    n: int = 20,
    passwd: Path | None = None,
    group: Path | None = None,
    **more: str,
) -> Report:
    """The report ``gpfs.change``; its settings are those of the views (``from`` is in ``more``)."""
    before, after = span(list_scans(rows_of(data)), more.get("from"), to, over)
    wish = {"from": before.label, "to": after.label, "root": root, "top_depth": top_depth}
    people = {"passwd": passwd, "group": group}
    request = _Request(
        data=data,
        wish={key: value for key, value in wish.items() if value is not None},
        people={key: value for key, value in people.items() if value is not None},
        n=n,
        unit=unit_for(None),
    )
    whole_change = request.changes("").row(0, named=True)
    sizes = (whole_change["old_bytes"], whole_change["new_bytes"])
    request = attrs.evolve(request, unit=unit_for(max(size or 0 for size in sizes)))
    return Report(
        "What changed in a file system",
        intro=[*_in_words(whole_change, before, after), *_most_grown(request)],
        sections=[
            *_by(request, "user", "By user", plot="Growth by user"),
            *_by(request, "top", "By directory", plot="Growth by directory"),
            *_ends(request),
            *_by(request, "group", "By group"),
            *_by(request, "fileset", "By fileset"),
            *_by(request, "pool", "By storage pool"),
            *(_age(request, after, cold, policy) if after.time is not None else []),
        ],
    )


def _in_words(row: dict[str, Any], before: Scan, after: Scan) -> list[str]:
    days = ""
    if before.time is not None and after.time is not None:
        days = f" ({(after.time - before.time).total_seconds() / 86400:,.3g} days)"
    old, new = row["old_bytes"], row["new_bytes"]
    if old is None or new is None:
        volume = "one of the lists says no sizes, so growth is not known"
    else:
        volume = f"{bytes_text(old)} became {bytes_text(new)} ({_signed(row)})"
    modified = "unknown how many" if row["modified"] is None else f"{row['modified']:,}"
    unmeasured = row["unmeasured"]
    left_out = (
        [f"Bytes leave out {unmeasured:,} objects whose size a list does not say."]
        if unmeasured and row["growth_bytes"] is not None
        else []
    )
    return [
        f"From {day(before.label)} to {day(after.label)}{days}: {volume}.",
        f"{row['old_inodes']:,} objects became {row['new_inodes']:,}: {row['created']:,} are new, "
        f"{row['deleted']:,} were deleted, {modified} modified, {row['renamed']:,} renamed.",
        *left_out,
    ]


def _most_grown(request: _Request) -> list[str]:
    """The user and the directory that grew by most bytes, where one grew."""
    found = [
        f"the {title} {row[by]} ({_signed(row)})"
        for by, title in (("user", "user"), ("top", "directory"))
        for row in request.changes(by).head(1).iter_rows(named=True)
        if (row["growth_bytes"] or 0) > 0 and row[by] is not None
    ]
    return [f"Grew by most bytes: {' and '.join(found)}."] if found else []


def _signed(row: dict[str, Any]) -> str:
    """``+5.10 GiB, +4.4 %``: growth in bytes, and in percent where there was something."""
    grown = f"{'+' if row['growth_bytes'] >= 0 else ''}{bytes_text(row['growth_bytes'])}"
    if row["growth_percent"] is None:
        return grown
    sign = "+" if row["growth_percent"] >= 0 else ""
    return f"{grown}, {sign}{share_in_words(row['growth_percent'] / 100)}"


def _by(request: _Request, by: str, title: str, plot: str = "") -> list[Section]:
    """Volumes by a group; with a plot the picture of them, and objects too."""
    table = request.changes(by)
    if not table[by].count():
        return []
    sections: list[Section] = [_volumes(request, table, by, title)]
    if plot:
        if table["growth_bytes"].count():
            sections.append(growth_bars(f"{by}-plot", plot, table, by))
        sections.append(_objects(request, table, by, f"{title}: objects"))
    return sections


def _volumes(request: _Request, table: pl.DataFrame, by: str, title: str) -> Table:
    rows = with_others(table, by, _VOLUMES, request.n).with_columns(
        (pl.col("moved_in_bytes") - pl.col("moved_out_bytes")).alias("moved_bytes"),
        share_of("growth_bytes", "old_bytes").alias("growth"),
    )
    moved = (
        [signed("moved_bytes", "moved here", request.unit)]
        if (rows["moved_bytes"] != 0).any()
        else []
    )
    return Table(
        f"{by}s" if by != "top" else "directories",
        rows,
        (
            _group(by),
            amount("old_bytes", "before", request.unit),
            amount("new_bytes", "after", request.unit),
            signed("growth_bytes", "growth", request.unit),
            Column("growth", "growth", None, "+,.1%"),
            amount("created_bytes", "new", request.unit),
            amount("deleted_bytes", "deleted", request.unit),
            signed("grown_bytes", "others", request.unit),
            *moved,
        ),
        title=title,
        note=_GROWTH.format(" and moved here from other rows" if moved else ""),
    )


def _group(by: str) -> Column:
    return Column("top", "directory", format="path") if by == "top" else Column(by)


def _objects(request: _Request, table: pl.DataFrame, by: str, title: str) -> Table:
    return Table(
        f"{by}-objects",
        with_others(table, by, list(_OBJECTS), request.n),
        (
            _group(by),
            *(Column(name, label) for name, label in _OBJECTS.items()),
        ),
        title=title,
        note=_RENAMED,
    )


def _ends(request: _Request) -> list[Section]:
    """Directories that vanished, and that are new."""
    table = request.changes("top")
    sections: list[Section] = []
    for state, side, title in (
        ("gone", "old", "Directories that vanished"),
        ("new", "new", "Directories that are new"),
    ):
        sums = [f"{side}_inodes", f"{side}_bytes"]
        rows = table.filter(pl.col("state") == state).sort(
            sums[1], "top", descending=[True, False], nulls_last=True
        )
        if rows.is_empty():
            continue
        unit = unit_for(most(rows, sums[1]))
        sections.append(
            Table(
                "vanished" if state == "gone" else "appeared",
                with_others(rows, "top", sums, request.n),
                (Column("top", "directory", format="path"), Column(sums[0], "objects"),
                 amount(sums[1], "logical", unit)),
                title=title,
                note=f"Directories {request.wish['top_depth']} below the root (top_depth); one "
                "that holds nothing but directories counts as empty.",
            )
        )  # fmt: skip
    return sections


def _age(request: _Request, after: Scan, cold: str | int, policy: str) -> list[Section]:
    """What is cold, by owner, and what policies would free."""
    named = {key: value for key, value in request.people.items() if key == "passwd"}
    owners = request.data.view("gpfs.owners", scan=after.label, cold=cold, **named).collect()
    freed = request.data.view("gpfs.policy", scan=after.label, policy=policy).collect()
    sums = ["cold_inodes", "cold_size_bytes", "cold_allocated_bytes", "cold_known_bytes"]
    owners = owners.sort("cold_size_bytes", "uid", descending=[True, False], nulls_last=True)
    rows = with_others(owners, "user", sums, request.n).with_columns(
        share_of("cold_size_bytes", "cold_known_bytes").alias("cold_share"),
        share_of("cold_size_bytes", owners["all_cold_known_bytes"].first()).alias("share"),
    )
    unit = unit_for(most(owners, "cold_size_bytes", "cold_allocated_bytes"))
    allocated = owners["cold_allocated_bytes"].count() > 0
    return [
        Table(
            "cold",
            rows,
            (
                Column("user"),
                Column("cold_inodes", "cold objects"),
                amount("cold_size_bytes", "logical", unit),
                *([amount("cold_allocated_bytes", "allocated", unit)] if allocated else []),
                Column("cold_share", "of theirs", None, ".1%"),
                Column("share", "of all", None, ".1%"),
            ),
            title="Cold data by owner",
            note=f"Cold: neither accessed nor modified in the {cold} before {day(after.label)}. "
            "Shares are of what is known to be cold or not.",
        ),
        _policy_table(freed, day(after.label)),
    ]


_TIMES: Final = {"access": "not accessed", "modify": "not modified", "both": "neither"}


def _policy_table(freed: pl.DataFrame, now: str) -> Table:
    unit = unit_for(most(freed, "freed_size_bytes", "freed_allocated_bytes"))
    allocated = freed["freed_allocated_bytes"].count() > 0
    return Table(
        "policy",
        freed.with_columns(
            pl.col("time").replace(_TIMES),
            share_of("freed_inodes", "known_inodes").alias("inodes_share"),
        ),
        (
            Column("days", "days", None, "d"),
            Column("time", "files that were"),
            Column("freed_inodes", "objects"),
            Column("inodes_share", "of all", None, ".1%"),
            amount("freed_size_bytes", "logical", unit),
            *([amount("freed_allocated_bytes", "allocated", unit)] if allocated else []),
            Column("freed_share", "of bytes", None, ".1%"),
        ),
        title="What a policy would free",
        group="days",
        note=f"By days before {now}. An object of several hard links is freed when all are "
        "removed. Shares are of what is known to be older or not.",
    )
