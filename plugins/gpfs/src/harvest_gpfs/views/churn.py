"""The view ``gpfs.churn``: what happened to objects between two scans.

Objects are compared by inode and generation, in passes that take a share of the inodes each, so
that no more than a share of two scans is held at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from harvest import HarvestError, UsageError

from ..aggregation.groupings import GROUPINGS, Setting
from ..aggregation.links import passes_for
from ..aggregation.listing import BUDGET, Listing, common_root, list_scans
from ..aggregation.on_polars import PolarsRows
from ..aggregation.scans import ALL, LATEST, Scan, labels, pick
from .common import deferred, named, rows_of, whole

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["churn", "compare", "two_scans"]

_KEY = ("inode", "generation")
_TIMES = {"modified": "modify_time", "accessed": "access_time"}
_CHANGES = ("created", "deleted", "modified", "accessed", "renamed", "moved_in", "moved_out")
_COUNTED = ("old_inodes", "old_bytes", "new_inodes", "new_bytes", "grown_bytes")
_SUMS = tuple(name for change in _CHANGES for name in (change, f"{change}_bytes")) + _COUNTED

LEAST_ROWS = 1_000_000
"""Rows of both scans that are compared at once, at least."""

_BYTES_PER_ROW = 600


def churn(
    dataset: DatasetReader,
    old: str | None = None,
    new: str | None = None,
    root: str | None = None,
    top_depth: int | str = 1,
) -> pl.LazyFrame:
    """The view ``gpfs.churn``: changes between two scans per top-level directory.

    old, new: as a scan is named; the latest two unless given.
    """
    setting = named(None, None, top_depth=whole(top_depth, "top_depth", 1))
    schema = {
        "top": pl.String(),
        **dict.fromkeys(_SUMS, pl.Int64()),
        "old_scan": pl.String(),
        "new_scan": pl.String(),
    }

    rows = rows_of(dataset)
    before, after = two_scans(list_scans(rows), old, new)
    return deferred(lambda: compare((rows, before), (rows, after), root, setting), schema)


def compare(
    old: tuple[PolarsRows, Scan], new: tuple[PolarsRows, Scan], root: str | None, setting: Setting
) -> pl.DataFrame:
    """The view's rows for two scans, each given with the rows that it is among."""
    (old_rows, before), (new_rows, after) = old, new
    earlier, later = old_rows.of(before), new_rows.of(after)
    common = root if root is not None else common_root(earlier, later)
    within = Listing(later, after, common).prepared(["top"], setting)
    return _compared(earlier, later, before.rows + after.rows, within).select(
        "top",
        *_SUMS,
        pl.lit(before.label).alias("old_scan"),
        pl.lit(after.label).alias("new_scan"),
    )


def two_scans(scans: Sequence[Scan], old: str | None, new: str | None) -> tuple[Scan, Scan]:
    """The scans of one dataset to compare: the latest two unless named.

    Raises UsageError for names that are not those of two scans.
    """
    if ALL in (old, new):
        raise UsageError("a scan is compared with one other", remedy="name it: old=, new=")
    after = pick(scans, LATEST if new is None else new)
    if old is not None:
        before = pick(scans, old)
    else:
        earlier = [s for s in scans if s.time and after.time and s.time < after.time]
        if not earlier:
            raise UsageError(
                f"no earlier scan is known to compare with; there is:{labels(scans)}",
                where=after.label,
                remedy="harvest another scan into the dataset, or name both that are meant",
            )
        before = earlier[-1]
    if before == after:
        raise UsageError(
            f"this scan would be compared with itself; there is:{labels(scans)}",
            where=after.label,
            remedy="name two different ones",
        )
    return before, after


def _compared(old: PolarsRows, new: PolarsRows, rows: int, setting: Setting) -> pl.DataFrame:
    """The sums of all changes per top-level directory, sorted by it."""
    known = _known(old) & _known(new)
    key = _KEY if "generation" in known else _KEY[:1]
    shares = passes_for(rows, least=LEAST_ROWS, bytes_each=_BYTES_PER_ROW, budget=BUDGET * 2)
    found = [
        _changes(
            _share(old, share, shares, setting), _share(new, share, shares, setting), key, known
        )
        for share in range(shares)
    ]
    total = pl.concat(found).group_by("top").agg(pl.col(name).sum() for name in _SUMS)
    top = GROUPINGS["top"]
    total = total.sort("top", nulls_last=True).with_columns(top.label(setting).alias("top"))
    for name in _SUMS:
        if any(abs(value) >= 2**63 for value in total[name].to_list()):
            raise HarvestError(
                f"{name} is more than 2^63 - 1",
                remedy="see gpfs.largest for sizes that cannot be",
            )
    return total.with_columns(pl.col(name).cast(pl.Int64) for name in _SUMS)


def _known(rows: PolarsRows) -> frozenset[str]:
    """What some row of a scan has: ``generation``; times with fractions of a second.

    Some lists have no generations, others whole seconds alone: that is a matter of the list, and
    not of a row, since a file's time may be a whole second by itself.
    """
    fraction = {
        name: pl.col(column).dt.epoch("us") % 1_000_000 != 0 for name, column in _TIMES.items()
    }
    query = rows.frame.select(
        pl.col("generation").is_not_null().any(),
        *(test.any().alias(name) for name, test in fraction.items()),
    )
    found = query.collect(engine="streaming").row(0, named=True)
    return frozenset(name for name, value in found.items() if value)


def _share(rows: PolarsRows, share: int, shares: int, setting: Setting) -> pl.DataFrame:
    """The rows of some inodes, directories left out."""
    frame = rows.frame.filter(pl.col("kind").ne_missing(pl.lit("directory")))
    if shares > 1:
        frame = frame.filter(pl.col("inode") % shares == share)
    return frame.select(
        *_KEY,
        "path",
        pl.col("size_bytes").alias("size"),
        *(pl.col(column).alias(name) for name, column in _TIMES.items()),
        GROUPINGS["top"].key(setting).alias("top"),
    ).collect(engine="streaming")


def _changes(
    old: pl.DataFrame, new: pl.DataFrame, key: Sequence[str], known: frozenset[str]
) -> pl.DataFrame:
    """The sums of changes per top-level directory among the objects of a share."""
    pairs = _objects(old, key).join(
        _objects(new, key), on=key, how="full", coalesce=True, nulls_equal=True, suffix="_new"
    )
    pairs = pairs.join(_renamed(old, new, key), on=key, how="left", nulls_equal=True)
    was, is_now = pl.col("there").is_not_null(), pl.col("there_new").is_not_null()
    stayed = was & is_now
    moved = stayed & pl.col("top").ne_missing(pl.col("top_new"))
    modified = stayed & (_differs("modified", known) | _unequal("size"))
    size, size_new = (pl.col(n).fill_null(0).cast(pl.Int128) for n in ("size", "size_new"))
    at_new = {
        "created": (is_now & ~was, size_new),
        "modified": (modified, size_new),
        "accessed": (stayed & _differs("accessed", known), size_new),
        "renamed": (stayed & pl.col("renamed").is_not_null(), size_new),
        # what moves weighs what it did before; what it grew by stands apart
        "moved_in": (moved, size),
    }
    at_old = {"deleted": (was & ~is_now, size), "moved_out": (moved, size)}
    new_side = (
        pairs.filter(is_now)
        .group_by(pl.col("top_new").alias("top"))
        .agg(
            *_counts(at_new),
            pl.len().cast(pl.Int128).alias("new_inodes"),
            size_new.sum().alias("new_bytes"),
            (size_new - size).filter(stayed).sum().alias("grown_bytes"),
        )
    )
    old_side = (
        pairs.filter(was)
        .group_by("top")
        .agg(
            *_counts(at_old),
            pl.len().cast(pl.Int128).alias("old_inodes"),
            size.sum().alias("old_bytes"),
        )
    )
    columns = {"top": pl.String, **dict.fromkeys(_SUMS, pl.Int128)}
    both = pl.concat([pl.DataFrame(schema=columns), new_side, old_side], how="diagonal")
    return both.group_by("top").agg(pl.col(name).sum() for name in _SUMS)


def _objects(rows: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """A row for each object: that of its first path."""
    ordered = rows.sort([*key, "path", "size", "modified", "accessed"], nulls_last=True)
    once = ordered.unique(key, keep="first", maintain_order=True)
    kept = [*key, "size", "modified", "accessed", "top"]
    return once.select(*kept, pl.lit(value=True).alias("there"))


def _renamed(old: pl.DataFrame, new: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Objects that lost a path and got another one."""
    on = [*key, "path"]
    gone = old.join(new, on=on, how="anti", nulls_equal=True).select(key).unique()
    came = new.join(old, on=on, how="anti", nulls_equal=True).select(key).unique()
    both = gone.join(came, on=key, how="semi", nulls_equal=True)
    return both.with_columns(pl.lit(value=True).alias("renamed"))


def _counts(tests: dict[str, tuple[pl.Expr, pl.Expr]]) -> list[pl.Expr]:
    counted = [test.cast(pl.Int128).sum().alias(name) for name, (test, _) in tests.items()]
    summed = [
        weight.filter(test).sum().alias(f"{name}_bytes") for name, (test, weight) in tests.items()
    ]
    return counted + summed


def _unequal(name: str) -> pl.Expr:
    """Whether two values differ; not where a list lacks one."""
    return (pl.col(name) != pl.col(f"{name}_new")).fill_null(value=False)


def _differs(name: str, known: frozenset[str]) -> pl.Expr:
    """Whether two times differ: by seconds, where a scan has whole seconds alone."""
    unit = 1 if name in known else 1_000_000
    old, new = (pl.col(column).dt.epoch("us") // unit for column in (name, f"{name}_new"))
    return (old != new).fill_null(value=False)
