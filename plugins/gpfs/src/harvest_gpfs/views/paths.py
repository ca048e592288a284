"""Views of large and old objects, possible copies, crowded directories, and unusual values.

Copies and entries are grouped by text, and a scan may have hundreds of millions of distinct texts.
Rows are therefore divided by size or by a hash, so that only one share is in memory. The text still
decides the group.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl

from harvest import DatasetReader, UsageError
from harvest_toolkit.frames import count_if_known, fraction, possible, sum_or_none

from ..aggregation.files import COLUMNS
from ..aggregation.groupings import NO_DIRECTORY, parse_size, read_names, text_of
from ..aggregation.listing import BUDGET, IDENTITY, ONLY_PATH, Listing, passes_for
from .common import INT, TEXT, collected, declared_types, frame_of, listing, of_scan
from .listed import CROWDED, DUPLICATES, LARGEST, ODD_NAMES, OLDEST


def largest(dataset: DatasetReader, n: int, scan: str, passwd: Path | None = None) -> pl.LazyFrame:
    """Build the view ``gpfs.largest``."""
    types = declared_types(LARGEST)
    return _first(dataset, types, "size_bytes", n, scan, passwd, descending=True)


def oldest(
    dataset: DatasetReader, n: int, by: str, scan: str, passwd: Path | None = None
) -> pl.LazyFrame:
    """Build the view ``gpfs.oldest``, with the requested time as a column."""
    types, column = declared_types(OLDEST), f"{by}_time"
    for name in {"change_time", "create_time"} - {column}:
        del types[name]
    return _first(dataset, types, column, n, scan, passwd, descending=False)


def _first(
    dataset: DatasetReader, shown: Mapping[str, pl.DataType], column: str, n: int, scan: str,
    passwd: Path | None, *, descending: bool,
) -> pl.LazyFrame:  # fmt: skip
    """Build a view of the first ``n`` objects by a column.

    Rows are sorted by the column, then by object and path, so that the paths of an object are
    adjacent. More rows are read until they contain ``n`` objects.
    """
    names, found = read_names(passwd, "passwd"), listing(dataset, scan)
    columns = dict.fromkeys((*(name for name in shown if name in COLUMNS), *IDENTITY))
    order = [column, *IDENTITY, "path", "origin", "position"]
    down = [descending, *[False] * (len(order) - 1)]

    def compute() -> pl.DataFrame:
        rows = frame_of(found).filter(NO_DIRECTORY, pl.col(column).is_not_null())
        rows, wanted = rows.select(*columns, ONLY_PATH), n * 2
        while True:
            taken = _head(rows, column, wanted, descending=descending)
            taken = taken.sort(order, descending=down, nulls_last=True)
            paths = taken.filter(pl.struct(*IDENTITY, "path").is_first_distinct())
            objects = paths.filter(pl.struct(*IDENTITY, "only_path").is_first_distinct())
            if objects.height >= n or taken.height < wanted:
                first = objects.head(n).with_columns(user=text_of("uid", names))
                return first.sort(column, "path", descending=down[:2], maintain_order=True)
            wanted *= 4

    return of_scan(found, shown, compute)


def _head(rows: pl.LazyFrame, column: str, wanted: int, *, descending: bool) -> pl.DataFrame:
    """Return at least the first ``wanted`` rows by a column and the inode, or all if fewer.

    A query finds the last value first, so that no engine needs to sort whole rows.
    """
    value = pl.col(column)
    first = value.top_k(wanted) if descending else value.bottom_k(wanted)
    edge = collected(rows.select(first.alias("v")))["v"]
    if len(edge) < wanted:
        return collected(rows)
    last = edge.min() if descending else edge.max()
    # many rows may have the last value: take those with the smallest inodes
    tied = rows.filter(value == last)
    inode = collected(tied.select(pl.col("inode").bottom_k(wanted)))["inode"].max()
    before = value > last if descending else value < last
    return collected(rows.filter(before | ((value == last) & (pl.col("inode") <= inode))))


_NAME: Final = r"/([^/]*)$"

LEAST_NAMED_ROWS = 2_000_000
"""Minimum number of rows whose names are compared together."""

_BYTES_PER_ROW: Final = 600

_ORDER: Final = ("extra_bytes", "name", "size_bytes")


def duplicates(dataset: DatasetReader, above: str, n: int, scan: str) -> pl.LazyFrame:
    """Build the view ``gpfs.duplicates``; a list without sizes gives one row of nulls.

    above: minimum file size; smaller files are most of the files but hold little data.
    """
    least = parse_size(above)
    found, types = listing(dataset, scan), declared_types(DUPLICATES)

    def compute() -> pl.DataFrame:
        rows = frame_of(found).filter(NO_DIRECTORY)
        large = rows.filter(pl.col("size_bytes") >= max(least, 1)).select(
            "path", "size_bytes", *IDENTITY
        )
        total = int(collected(large.select(pl.len())).item())
        shares = passes_for(
            total, least=LEAST_NAMED_ROWS, bytes_each=_BYTES_PER_ROW, budget=BUDGET * 2
        )
        sums = {
            "all_names": pl.len(),
            "all_extra_copies": (pl.col("copies") - 1).sum(),
            "all_extra_bytes": pl.col("extra_bytes").sum(),
        }
        firsts, together = [], []
        for share in range(shares):
            copies = _copies(large, share, shares)
            firsts.append(copies.head(n))
            together.append(copies.select(**sums))
        (all_bytes,) = found.aggregate([], ["size_bytes"], directories=False).row(0)
        said = rows.select(pl.col("size_bytes").is_not_null().any())
        sizes_known = total or collected(said).item()
        if not sizes_known and not collected(rows.head(1)).is_empty():
            # without sizes, it is also unknown that no name occurs twice
            return pl.DataFrame({name: [None] for name in types})
        first = pl.concat(firsts).sort(*_ORDER, descending=[True, False, False]).head(n)
        return first.join(pl.concat(together).sum(), how="cross").with_columns(
            extra_share=fraction("all_extra_bytes", pl.lit(all_bytes, pl.Int128))
        )

    return of_scan(found, types, compute)


def _copies(large: pl.LazyFrame, share: int, shares: int) -> pl.DataFrame:
    """Find names in a share that several files of equal size have, sorted by bytes."""
    if shares > 1:
        large = large.filter(pl.col("size_bytes") % shares == share)
    name = pl.col("path").str.extract(_NAME).fill_null(pl.col("path"))
    objects = large.group_by(name.alias("name"), "size_bytes", *IDENTITY).agg(pl.col("path").min())
    groups = objects.group_by("name", "size_bytes").agg(
        pl.len().cast(INT).alias("copies"),
        pl.col("path").min().alias("first_path"),
        pl.col("path").max().alias("last_path"),
    )
    several = groups.filter(pl.col("copies") > 1).with_columns(
        ((pl.col("copies") - 1) * possible("size_bytes")).alias("extra_bytes")
    )
    return collected(several).sort(*_ORDER, descending=[True, False, False])


_BUCKETS: Final = 1 << 20


def crowded(dataset: DatasetReader, least: int, scan: str) -> pl.LazyFrame:
    """Build the view ``gpfs.crowded``."""
    found = listing(dataset, scan)

    def compute() -> pl.DataFrame:
        directory = pl.col("path").str.replace(_NAME, "").alias("directory")
        below = frame_of(found).filter(pl.col("path").str.contains("/", literal=True))
        rows = below.select(directory, "path", "kind", "size_bytes", "origin", "position")
        bucket = (pl.col("directory").hash() % _BUCKETS).alias("bucket")
        # a directory with many entries makes its bucket large: most buckets are smaller
        counts = collected(rows.group_by(bucket).agg(pl.len()))
        full = counts.filter(pl.col("len") >= least)["bucket"]
        some = rows.filter(bucket.is_in(full.implode())) if len(full) else rows.clear()
        if found.several_lists:
            some = some.sort("origin", "position").unique("path", keep="first")
        entries = some.group_by("directory").agg(
            entries=pl.len().cast(INT),
            files=count_if_known(pl.col("kind") == "file"),
            directories=count_if_known(pl.col("kind") == "directory"),
            size_bytes=sum_or_none(possible("size_bytes")),
        )
        table = collected(entries.filter(pl.col("entries") >= least))
        return table.with_columns(pl.col("directory").replace("", "/")).sort(
            "entries", "directory", descending=[True, False]
        )

    return of_scan(found, declared_types(CROWDED), compute)


_EPOCH_ENDS: Final = datetime(1970, 1, 2, tzinfo=UTC)
_MAY_LACK: Final = {
    "generation": "reused inodes cannot be distinguished",
    "kind": "files and directories cannot be distinguished",
    "size_bytes": "sums of bytes leave these objects out",
    "allocated_bytes": "sums of allocated bytes leave these objects out",
    "access_time": "they have no age by access",
    "modify_time": "they have no age by modification",
    "create_time": "objects of several file systems cannot be distinguished",
    "change_time": "",
    "uid": "they belong to no user",
    "gid": "they belong to no group",
    "pool": "",
    "fileset": "",
    "heat": "",
    "nlink": "hard links are found by comparing all inodes",
}
"""Columns that a list may lack, and the consequence of each."""

_FINDINGS: Final = ("fact", "gap", "oddity")
_COMPARED: Final = ("size_bytes", "modify_time", "uid", "nlink", "kind")
_SEVERAL: Final = (pl.col("nlink") > 1) & NO_DIRECTORY
_TIMES: Final = ("access_time", "modify_time", "create_time")


def scan_quality(dataset: DatasetReader, scan: str, now: str | None = None) -> pl.LazyFrame:
    """Build the view ``gpfs.scan_quality``, with a row for each check."""
    schema = {"finding": TEXT, "check": TEXT, "count": INT, "meaning": TEXT}
    found = listing(dataset, scan, now=now)

    def compute() -> pl.DataFrame:
        tests = _tests(found.given_now or found.scan.time)
        counts = collected(
            frame_of(found).select(
                pl.col("origin").n_unique().alias("lists"),
                _count(_SEVERAL).alias("elsewhere"),
                *(_count(test).alias(name) for name, (_, test, _) in tests.items()),
            )
        ).row(0, named=True)
        lists, elsewhere = counts.pop("lists"), counts.pop("elsewhere")
        rows = [
            ("fact", "lists", lists, "files or parts of this scan"),
            *((tests[name][0], name, count, tests[name][2]) for name, count in counts.items()),
            *_links(found, elsewhere),
        ]
        rows.sort(key=lambda check: _FINDINGS.index(check[0]))
        return pl.DataFrame(rows, schema=schema, orient="row")

    return of_scan(found, schema, compute)


def _count(test: pl.Expr) -> pl.Expr:
    """Count rows that pass a test; null if none passes and some results are unknown."""
    return pl.when(test.any() | test.is_not_null().all()).then(test.sum().cast(pl.Int64))


def _tests(reference: datetime | None) -> dict[str, tuple[str, pl.Expr, str]]:
    """Return tests of rows by name of the check: kind of finding, test and meaning."""
    size, allocated = pl.col("size_bytes"), pl.col("allocated_bytes")
    kinds = ("file", "directory", "symlink", "other")
    facts = {"paths": pl.col("inode").is_not_null()}
    facts |= {f"kind {kind}": pl.col("kind") == kind for kind in kinds}
    oddities = {
        "names that are not UTF-8": (pl.col("path_raw").is_not_null(), "shown as \\xNN"),
        "sizes below zero": (pl.min_horizontal(size, allocated) < 0, "impossible; not in sums"),
        "sizes of 1 EiB or more": (
            pl.max_horizontal(size, allocated) >= 2**60,
            "unlikely; a sum above 2^63 - 1 is shown as unknown",
        ),
        "data without blocks": (
            NO_DIRECTORY & (size > 4096) & (allocated == 0),
            "migrated to tape, sparse, or compressed",
        ),
        "sparse": (NO_DIRECTORY & (allocated > 0) & (allocated < size), "holes or compression"),
    }
    early, late = "not set, or lost", "a clock was wrong, or a program set it"
    oddities |= {f"{n} of 1970-01-01 or before": (pl.col(n) < _EPOCH_ENDS, early) for n in _TIMES}
    if reference is not None:
        oddities |= {f"{n} after the scan": (pl.col(n) > reference, late) for n in _TIMES}
    return {
        **{name: ("fact", test, "") for name, test in facts.items()},
        **{f"without {n}": ("gap", pl.col(n).is_null(), why) for n, why in _MAY_LACK.items()},
        **{name: ("oddity", *each) for name, each in oddities.items()},
    }


def _links(found: Listing, several: int | None) -> list[tuple[str, str, int | None, str]]:
    """Check all rows of each object, whatever their number of links.

    several: number of rows with more than one link; an object listed only once has other paths.
    """
    rows, paths, links = pl.col("rows"), pl.col("paths"), pl.col("has links")
    sums: Counter[str] = Counter()
    for portion in found.linked(_COMPARED, everything=True):
        objects = (
            portion.with_columns(_SEVERAL.alias("has links"))
            .group_by(IDENTITY)
            .agg(
                pl.len().cast(pl.Int64).alias("rows"),
                pl.col("path").n_unique().cast(pl.Int64).alias("paths"),
                pl.col("nlink").max(),
                pl.col("has links").sum().cast(pl.Int64),
                differ=pl.any_horizontal(pl.col(name).n_unique() > 1 for name in _COMPARED),
            )
        )
        counts = objects.select(
            linked=(paths > 1).sum(),
            twice=(rows - paths).sum(),
            disagree=pl.col("differ").sum(),
            further=links.sum() - ((links > 0) & (paths < pl.col("nlink"))).sum().cast(pl.Int64),
        )
        sums.update(counts.row(0, named=True))
    elsewhere = None if several is None else several - sums["further"]
    lacking = "some of their paths are not in the list"
    return [
        ("fact", "objects with several paths", sums["linked"], "hard links; bytes count once"),
        ("oddity", "rows that repeat a path", sums["twice"], "overlapping lists; count once"),
        ("oddity", "objects whose rows disagree", sums["disagree"], "changed during the scan"),
        ("gap", "objects with links elsewhere", elsewhere, lacking),
    ]


_PATH, _UNDECODABLE = pl.col("path"), pl.col("path_raw").is_not_null()
_PATTERNS: Final = {
    "control character": r"[\x00-\x1f\x7f\u{80}-\u{9f}]",
    "invisible or bidirectional character": r"[\u{ad}\u{200b}-\u{200f}\u{2028}-\u{202e}"
    r"\u{2060}-\u{2069}\u{feff}]",
    "blank at an end": r"(^|/) |\s$|\s/",
    "begins with a dash": r"(^|/)-",
    "quote": r"""['"`]""",
    "shell character": r"[*?\[\]{}$&|;<>!()#~]",
    "percent code": r"%[0-9A-Fa-f]{2}",
}
_ODDITIES: Final = {
    "not UTF-8": _UNDECODABLE,
    # in a path with path_raw, \\xNN is a byte, and a backslash is doubled
    "backslash": pl.when(_UNDECODABLE)
    .then(_PATH.str.contains(r"\\\\"))
    .otherwise(_PATH.str.contains("\\", literal=True)),
    **{name: _PATH.str.contains(pattern) for name, pattern in _PATTERNS.items()},
    # this pattern is slow, and few paths are long enough for it
    "longer than 200 characters": pl.when(_PATH.str.len_bytes() > 200)
    .then(_PATH)
    .str.contains(r"[^/]{201}"),
}
"""Tests of a path by name of the oddity."""
_SHORT: Final = _PATH.str.contains("|".join((r"\\", *_PATTERNS.values())))
"""One pattern for all oddities of decoded names except length."""


def odd_names(dataset: DatasetReader, scan: str, kinds: Sequence[str] = ()) -> pl.LazyFrame:
    """Build the view ``gpfs.odd_names``, in the dataset's order."""
    wanted = list(kinds) or list(_ODDITIES)
    for kind in wanted:
        if kind not in _ODDITIES:
            raise UsageError(f"no oddity {kind!r}", remedy="use " + ", ".join(_ODDITIES))
    found = listing(dataset, scan)
    names = [pl.when(_ODDITIES[kind]).then(pl.lit(kind)) for kind in wanted]
    kinds_found = pl.concat_str(names, separator=", ", ignore_nulls=True)
    return (
        frame_of(found)
        .filter(_UNDECODABLE | _SHORT | _ODDITIES["longer than 200 characters"])
        .with_columns(kinds_found.alias("oddities"), scan=pl.lit(found.scan.label))
        .filter(pl.col("oddities") != "")
        .select(*declared_types(ODD_NAMES))
    )
