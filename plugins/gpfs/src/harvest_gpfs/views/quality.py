"""What a list does not say, what in it cannot be right, and paths that scripts stumble over."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import polars as pl

from harvest import DatasetReader, UsageError

from ..aggregation.groupings import NO_DIRECTORY
from ..aggregation.listing import Listing, first_paths
from .common import INT, TEXT, collected, frame_of, listing, of_scan

_EPOCH_ENDS: Final = datetime(1970, 1, 2, tzinfo=UTC)
_MAY_LACK: Final = {
    "generation": "inodes that were reused look alike",
    "kind": "files and directories look alike",
    "size_bytes": "sums of bytes leave these objects out",
    "allocated_bytes": "sums of allocated bytes leave these objects out",
    "access_time": "they have no age by access",
    "modify_time": "they have no age by modification",
    "create_time": "",
    "change_time": "",
    "uid": "they belong to no user",
    "gid": "they belong to no group",
    "pool": "",
    "fileset": "",
    "heat": "",
    "nlink": "hard links are found by comparing all inodes",
}
"""Columns that a list may not say, and what follows from that."""

_ORDER: Final = ("fact", "gap", "oddity")
_COMPARED: Final = ("size_bytes", "modify_time", "uid", "nlink", "kind")
_SEVERAL: Final = (pl.col("nlink") > 1) & NO_DIRECTORY
_TIMES: Final = ("access_time", "modify_time", "create_time")


def scan_quality(dataset: DatasetReader, scan: str, now: str | None = None) -> pl.LazyFrame:
    """The view ``gpfs.scan_quality``: a row for each check."""
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
            ("fact", "lists", lists, "files or parts that it is of"),
            *((tests[name][0], name, count, tests[name][2]) for name, count in counts.items()),
            *_links(found, elsewhere),
        ]
        rows.sort(key=lambda check: _ORDER.index(check[0]))
        return pl.DataFrame(rows, schema=schema, orient="row")

    return of_scan(found, schema, compute)


def _count(test: pl.Expr) -> pl.Expr:
    """Of how many rows a test is true; null where it may be of some and is known of none."""
    return pl.when(test.any() | test.is_not_null().all()).then(test.sum().cast(pl.Int64))


def _tests(reference: datetime | None) -> dict[str, tuple[str, pl.Expr, str]]:
    """What is asked of each row: kind of finding, test and meaning, by the name of the check."""
    size, allocated = pl.col("size_bytes"), pl.col("allocated_bytes")
    kinds = ("file", "directory", "symlink", "other")
    facts = {"paths": pl.col("inode").is_not_null()}
    facts |= {f"kind {kind}": pl.col("kind") == kind for kind in kinds}
    oddities = {
        "names that are not UTF-8": (pl.col("path_raw").is_not_null(), "shown as \\xNN"),
        "sizes below zero": (pl.min_horizontal(size, allocated) < 0, "cannot be; not in sums"),
        "sizes of 1 EiB or more": (
            pl.max_horizontal(size, allocated) >= 2**60,
            "hardly can be; a sum above 2^63 - 1 is shown as not known",
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
    """What all rows of an object say together, whatever link count they claim.

    several: rows that claim more than one link; one that is listed once has links elsewhere.
    """
    linked = twice = disagree = further = 0
    for portion in found.linked(_COMPARED, everything=True):
        counted = portion.with_columns(
            first_paths().cum_sum().alias("object"), _SEVERAL.alias("has links")
        )
        objects = counted.group_by("object").agg(
            pl.len().cast(pl.Int64).alias("rows"),
            pl.col("path").n_unique().cast(pl.Int64).alias("paths"),
            pl.col("nlink").max(),
            pl.col("has links").sum().cast(pl.Int64),
            pl.any_horizontal(pl.col(name).n_unique() > 1 for name in _COMPARED).alias("differ"),
        )
        linked += objects.filter(pl.col("paths") > 1).height
        twice += int((objects["rows"] - objects["paths"]).sum())
        disagree += int(objects["differ"].sum())
        having = objects.filter(pl.col("has links") > 0)
        further += int(having["has links"].sum())
        further -= having.filter(pl.col("paths") < pl.col("nlink")).height
    elsewhere = None if several is None else several - further
    return [
        ("fact", "objects with several paths", linked, "hard links; bytes count once"),
        ("oddity", "rows that repeat a path", twice, "lists that overlap"),
        ("oddity", "objects whose rows disagree", disagree, "changed while they were listed"),
        (
            "gap",
            "objects with links elsewhere",
            elsewhere,
            "some of their paths are not in the list",
        ),
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
    # where path_raw is given, \\xNN stands for a byte, and a backslash is written twice
    "backslash": pl.when(_UNDECODABLE)
    .then(_PATH.str.contains(r"\\\\"))
    .otherwise(_PATH.str.contains("\\", literal=True)),
    **{name: _PATH.str.contains(pattern) for name, pattern in _PATTERNS.items()},
    # a pattern that is slow, and that few paths are long enough for
    "longer than 200 characters": pl.when(_PATH.str.len_bytes() > 200)
    .then(_PATH)
    .str.contains(r"[^/]{201}"),
}
"""What makes a name odd, and whether a path shows it."""
_SHORT: Final = _PATH.str.contains("|".join((r"\\", *_PATTERNS.values())))
"""What shows any oddity of a decoded name that is not long, by one pattern."""


def odd_names(dataset: DatasetReader, scan: str, kinds: Sequence[str] = ()) -> pl.LazyFrame:
    """The view ``gpfs.odd_names``, in the dataset's order."""
    wanted = list(kinds) or list(_ODDITIES)
    for kind in wanted:
        if kind not in _ODDITIES:
            raise UsageError(f"no oddity {kind!r}", remedy="there are " + ", ".join(_ODDITIES))
    found = listing(dataset, scan)
    names = [pl.when(_ODDITIES[kind]).then(pl.lit(kind)) for kind in wanted]
    kinds_found = pl.concat_str(names, separator=", ", ignore_nulls=True)
    columns = ["path", "path_raw", "kind", "size_bytes", "uid", "inode", "origin", "position"]
    return (
        frame_of(found)
        .filter(_UNDECODABLE | _SHORT | _ODDITIES["longer than 200 characters"])
        .select(*columns, kinds_found.alias("oddities"))
        .filter(pl.col("oddities") != "")
        .select("path", "oddities", *columns[1:], pl.lit(found.scan.label).alias("scan"))
    )
