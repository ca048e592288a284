"""Views that list paths: the largest, the oldest, and those with odd names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from harvest import UsageError

from ..aggregation.links import IDENTITY, candidate
from ..aggregation.scans import LATEST
from .common import collected, frame_of, listing, named, of_scan

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["ODDITIES", "largest", "odd_names", "oddities", "oldest"]

_TIME = pl.Datetime("us", "UTC")
_SHOWN = {
    "path": pl.String(),
    "size_bytes": pl.Int64(),
    "allocated_bytes": pl.Int64(),
    "uid": pl.Int64(),
    "user": pl.String(),
    "gid": pl.Int64(),
    "access_time": _TIME,
    "modify_time": _TIME,
    "pool": pl.String(),
    "fileset": pl.String(),
    "nlink": pl.Int64(),
    "inode": pl.UInt64(),
    "origin": pl.String(),
    "position": pl.Int64(),
}

_NAMES = {"uid": pl.Int64(), "user": pl.String()}


def largest(
    dataset: DatasetReader, n: int = 50, scan: str = LATEST, passwd: Path | None = None
) -> pl.LazyFrame:
    """The view ``gpfs.largest``: the objects of most logical bytes, each once."""
    return _first(dataset, "size_bytes", n, scan, passwd, descending=True)


def oldest(
    dataset: DatasetReader,
    n: int = 50,
    by: str = "modify",
    scan: str = LATEST,
    passwd: Path | None = None,
) -> pl.LazyFrame:
    """The view ``gpfs.oldest``: the files that were modified (or accessed) longest ago, each once.

    Directories do not count.  A time that is asked for is a column, too.
    """
    return _first(dataset, f"{by}_time", n, scan, passwd, descending=False)


def _first(
    dataset: DatasetReader,
    column: str,
    n: int,
    scan: str,
    passwd: Path | None,
    *,
    descending: bool,
) -> pl.LazyFrame:
    shown = _SHOWN if column in _SHOWN else {**_SHOWN, column: _TIME}
    users = named(passwd, None).user_names
    names = pl.DataFrame(list(users.items()), schema=_NAMES, orient="row")

    found = listing(dataset, scan)

    def compute() -> pl.DataFrame:
        table = _objects(frame_of(found), shown, column, n, descending=descending)
        return table.join(names, on="uid", how="left", maintain_order="left")

    return of_scan(found, shown, compute)


def _objects(
    rows: pl.LazyFrame, shown: Iterable[str], column: str, n: int, *, descending: bool
) -> pl.DataFrame:
    """The first ``n`` objects by a column.

    Rows are taken in the order of the column, then of objects and paths, so that the paths of an
    object follow each other; more are taken until ``n`` objects are among them.
    """
    columns = [name for name in shown if name != "user"]
    rows = rows.filter(
        pl.col("kind").ne_missing(pl.lit("directory")), pl.col(column).is_not_null()
    ).select(
        *columns,
        *(name for name in IDENTITY if name not in columns),
        candidate().alias("may repeat"),
    )
    order = [column, *IDENTITY, "path", "origin", "position"]
    down = [descending, *[False] * (len(order) - 1)]
    wanted = n * 2
    while True:
        taken = _head(rows, column, wanted, descending=descending)
        taken = taken.sort(order, descending=down, nulls_last=True)
        repeats = pl.col("may repeat") & ~pl.struct(IDENTITY).is_first_distinct()
        objects = taken.filter(~repeats)
        if objects.height >= n or taken.height < wanted:
            return objects.head(n).sort(
                [column, "path"], descending=[descending, False], maintain_order=True
            )
        wanted *= 4


def _head(rows: pl.LazyFrame, column: str, wanted: int, *, descending: bool) -> pl.DataFrame:
    """At least the first ``wanted`` rows by a column and the inode; all where there are fewer.

    Found by their least value, which no engine needs to sort whole rows for.
    """
    value = pl.col(column)
    first = value.top_k(wanted) if descending else value.bottom_k(wanted)
    edge = collected(rows.select(first.alias("v")))["v"]
    if len(edge) < wanted:
        return collected(rows)
    last = edge.min() if descending else edge.max()
    # many may share the last value: of those, the ones with the smallest inodes
    tied = rows.filter(value == last)
    inode = collected(tied.select(pl.col("inode").bottom_k(wanted)))["inode"].max()
    before = value > last if descending else value < last
    return collected(rows.filter(before | ((value == last) & (pl.col("inode") <= inode))))


ODDITIES: Final = {
    "control character": r"[\x00-\x1f\x7f\u{80}-\u{9f}]",
    "invisible or bidirectional character": r"[\u{ad}\u{200b}-\u{200f}\u{2028}-\u{202e}"
    r"\u{2060}-\u{2069}\u{feff}]",
    "blank at an end": r"(^|/) |\s$|\s/",
    "begins with a dash": r"(^|/)-",
    "quote": r"""['"`]""",
    "shell character": r"[*?\[\]{}$&|;<>!()#~]",
    "percent code": r"%[0-9A-Fa-f]{2}",
    "longer than 200 characters": r"[^/]{201}",
}
"""What makes a name odd, and the pattern of it in a path; see ``oddities`` for all."""


def oddities() -> dict[str, pl.Expr]:
    """For each oddity, whether a path shows it."""
    path, undecodable = pl.col("path"), pl.col("path_raw").is_not_null()
    tests = {name: path.str.contains(pattern) for name, pattern in ODDITIES.items()}
    # where path_raw is given, \\xNN stands for a byte, and a backslash is written twice
    backslash = (
        pl.when(undecodable)
        .then(path.str.contains(r"\\\\"))
        .otherwise(path.str.contains("\\", literal=True))
    )
    return {"not UTF-8": undecodable, "backslash": backslash, **tests}


def odd_names(
    dataset: DatasetReader, scan: str = LATEST, kinds: Sequence[str] = ()
) -> pl.LazyFrame:
    """The view ``gpfs.odd_names``: paths that scripts stumble over, in the dataset's order.

    kinds: only these oddities.
    """
    tests = oddities()
    wanted = list(kinds) or list(tests)
    for kind in wanted:
        if kind not in tests:
            raise UsageError(f"no oddity {kind!r}", remedy="there are " + ", ".join(tests))
    found = listing(dataset, scan)
    names = [pl.when(tests[kind]).then(pl.lit(kind)) for kind in wanted]
    kinds_found = pl.concat_str(names, separator=", ", ignore_nulls=True)
    columns = ["path", "path_raw", "kind", "size_bytes", "uid", "inode", "origin", "position"]
    return (
        frame_of(found)
        .select(*columns, kinds_found.alias("oddities"))
        .filter(pl.col("oddities") != "")
        .select("path", "oddities", *columns[1:], pl.lit(found.scan.label).alias("scan"))
    )
