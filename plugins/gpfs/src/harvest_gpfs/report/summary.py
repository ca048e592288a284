"""The report ``gpfs.summary``: a file system at a glance.

The views count and sum. The report shortens their tables and adds shares of the total.
"""

from pathlib import Path
from typing import Any, Final

import attrs
import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import bytes_in_words, count_in_words, share_in_words
from harvest.toolkit.layout import shorten
from harvest_report import Column, LazySection, Notes, Report, Section, Table, Tile
from harvest_toolkit.frames import fraction, safe_sum, sum_or_none

from ..aggregation.groupings import Setting, parse_age
from ..aggregation.scans import day, label_of
from ..measures import DEFAULT, DIRECTORY
from ..views.common import SUMS, listing
from .lists import odd_names, over_time, paths, quality
from .plots import age_plot, amount, amounts, bars, first_and_others, in_bytes, percent, size_plot

_FILES = ("files", "size_bytes", "allocated_bytes")
_OF_ALL = percent("share", "of all")
_TOP = Column("top", format="path")


@attrs.frozen
class _Request:
    """Settings of the report, and the kinds of values that the list records."""

    data: DatasetReader
    scan: str
    n: int
    ages_known: bool
    allocated_known: bool
    among: dict[str, Any]
    people: dict[str, Any]
    cold: str
    owned: dict[str, Any]

    def view(self, name: str, **settings: Any) -> pl.DataFrame:
        return self.data.view(name, scan=self.scan, **settings).collect()

    def amounts(self, prefix: str = "", said: str = "") -> list[Column]:
        return amounts(prefix, said, allocated=self.allocated_known)

    @property
    def counted(self) -> tuple[Column, ...]:
        """Columns of the number of objects, their bytes, and these bytes as a share."""
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
    """Build the report ``gpfs.summary``; its settings are those of the views."""
    found = listing(data, scan, root=root, now=now)
    counted_from = found.given_now or found.scan.time
    # compute these sums once for all tables, instead of reading all rows for each
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
        people={"passwd": passwd, "group": group},
        cold=_COLD.format(parse_age(cold), day(label_of(counted_from))) if counted_from else "",
        owned={"cold": cold, "now": now, "passwd": passwd},
    )
    linked = total["hard_links"]
    notes = (*_DEFINITIONS, *(() if request.ages_known else (_NO_TIME,)))
    return Report(
        "A file system at a glance",
        intro=[
            f"Scan of {day(found.scan.label)}, all paths below {found.root.rstrip('/') or '/'}.",
            *([f"{linked:,} extra hard links are not counted."] if linked else []),
        ],
        tiles=lambda: _tiles(request, total),
        picture="users-plot",
        sections=[
            LazySection("users", lambda: _owners(request)),
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


def _tiles(request: _Request, total: dict[str, Any]) -> list[Tile]:
    owners = request.view("gpfs.owners", **request.owned)
    parts = owners.select(sum_or_none(name) for name in ("cold_size_bytes", "small_inodes"))
    cold, small = parts.row(0)
    first = owners.head(1).to_dicts()[0]
    kinds, files, directories = "kinds not recorded", total["files"], total["directories"]
    if files is not None and directories is not None:
        kinds = f"{files:,} files, {count_in_words(directories, 'directory', 'directories')}"
    tiles = [
        Tile(
            "logical size",
            in_bytes(total["size_bytes"]),
            f"allocated: {in_bytes(total['allocated_bytes'])}",
        ),
        Tile("objects", f"{total['inodes']:,}", kinds),
        Tile(
            f"unused for {count_in_words(first['cold_days'], 'day')}",
            in_bytes(cold),
            _share(cold, first["all_cold_known_bytes"], "of data with times"),
        ),
        Tile(
            f"files below {bytes_in_words(first['small_below'])}",
            "not recorded" if small is None else f"{small:,}",
            _share(small, first["all_small_known_inodes"], "of files with a size"),
        ),
    ]
    for row in owners.drop_nulls(["uid", "share"]).head(1).iter_rows(named=True):
        share = f"{in_bytes(row['size_bytes'])}, {share_in_words(row['share'])} of all data"
        tiles.append(Tile("largest user", shorten(row["user"], 20, "id"), share))
    return tiles


def _share(part: int | None, whole: int | None, of: str) -> str:
    return f"{share_in_words(part / whole)} {of}" if part is not None and whole else ""


def _owners(request: _Request) -> list[Section]:
    owners = request.view("gpfs.owners", **request.owned).filter(pl.col("inodes") > 0)
    sections: list[Section] = []
    if owners["uid"].count():
        sums = ["cold_size_bytes", "cold_known_bytes", "small_inodes", "small_known_inodes"]
        rows = first_and_others(owners, "user", [*_FILES, *sums], request.n).with_columns(
            share=_of_all("size_bytes"),
            cold_share=fraction("cold_size_bytes", "cold_known_bytes"),
            small_share=fraction("small_inodes", "small_known_inodes"),
        )
        cold = (amount("cold_size_bytes", "cold"), percent("cold_share", "cold share"))
        columns = (
            *("user", "files", *request.amounts(), _OF_ALL),
            *(cold if request.ages_known else ()),
            percent("small_share", "small files"),
        )
        note = f"{request.cold} Small files are below 64 KiB.".strip()
        sections = [
            Table("users", rows, columns, title="By user", note=note),
            bars("users-plot", "Largest users", owners, "user"),
        ]
    groups = request.view("gpfs.usage", by="group", **request.people)
    if groups["group"].count():
        sections.append(_usage_table("groups", groups, "group", "By group", request))
    return sections


def _of_all(column: str) -> pl.Expr:
    return fraction(column, safe_sum(column))


def _usage_table(
    name: str, table: pl.DataFrame, by: str, title: str, request: _Request, note: str | None = None
) -> Table:
    rows = first_and_others(table, by, _FILES, request.n).with_columns(share=_of_all("size_bytes"))
    columns: list[Column | str] = [by, "files", *request.amounts(), _OF_ALL]
    return Table(name, rows, columns, title=title, note=note)


def _places(request: _Request, depth: int) -> list[Section]:
    top = request.view("gpfs.usage", by="top", **request.among)
    note = "An object with several hard links counts once, at its first path in byte order."
    sections: list[Section] = [
        _usage_table("top", top, "top", "By top-level directory", request, note),
        bars("top-plot", "Largest top-level directories", top, "top"),
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
        title="Directories with their subdirectories",
        note="Rows overlap: a directory also counts in its parents."
        + (f" {left_out:,} smaller directories are not shown." if left_out else ""),
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
            title="By age",
            group="time",
            note="Age is the time since the last access or modification; without directories.",
        ),
        Table(
            "cold",
            rows,
            (
                _TOP,
                Column("cold_inodes", "cold objects"),
                *request.amounts("cold_", "cold, "),
                percent("share", "cold share"),
            ),
            title="Cold data by directory",
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
            note="Without directories.",
        ),
        Table(
            "small",
            small,
            (
                _TOP,
                Column("small_inodes", "small objects"),
                percent("share", "small share"),
                *request.amounts("small_"),
            ),
            title="Small objects by directory",
            note="Small objects are below 64 KiB, without directories.",
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
        Column("warm", doc="objects with a heat above 0"),
        Column("mean_heat", "mean heat", None, ".6f", doc="of objects with a recorded heat"),
        Column("hottest", format=".6f"),
    )
    return [Table("heat", heat, columns, title="Heat by pool")]


_DEFINITIONS: Final = (
    "An object with several hard links counts once, at its first path in byte order.",
    "Logical size is the length of files, allocated size is the storage that they use. A column "
    "has one unit; its CSV has exact bytes.",
)
_COLD: Final = (
    "Cold data were neither accessed nor modified in the {:,} days before {}. Shares are of data "
    "with known times."
)
_NO_TIME: Final = "The list does not record when its scan was made. Set now= to see ages."
