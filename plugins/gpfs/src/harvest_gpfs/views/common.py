"""Scan and settings of views, and other parts that all views of scans share."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import attrs
import polars as pl

from harvest import DatasetReader, UsageError, View
from harvest.model.frames import types_of
from harvest_toolkit.frames import deferred, kept, sum_or_none

from ..aggregation.files import COLUMNS
from ..aggregation.groupings import GROUPINGS, Setting, read_names
from ..aggregation.listing import Listing
from ..aggregation.on_polars import PolarsRows
from ..aggregation.scans import LATEST, Scan, moment, pick
from ..measures import DIRECTORY

INT, TEXT, TIME = pl.Int64(), pl.String(), pl.Datetime("us", "UTC")

SUMS: Final = ("inodes", "size_bytes", "allocated_bytes")
"""Sums that most views have."""


def declared_types(view: View) -> dict[str, pl.DataType]:
    """Return the types of a view's columns, in order; some have the type of ``gpfs.file``."""
    assert not isinstance(view.columns, str)
    typed = types_of(column for column in view.columns if column.type is not None)
    return {column.name: (COLUMNS | typed)[column.name] for column in view.columns}


def grouped_types(view: View, by: Collection[str]) -> dict[str, pl.DataType]:
    """Return the types of a view's columns: first those of its groupings, then all others."""
    types = declared_types(view)
    keys = [*by, *(["depth"] if DIRECTORY in by else [])]
    others = (name for name in types if name not in GROUPINGS and name != "depth")
    return {name: types[name] for name in (*keys, *others)}


def rows_of(dataset: DatasetReader) -> PolarsRows:
    """Load all rows of ``gpfs.file``, for polars' streaming engine."""
    return PolarsRows(dataset["gpfs.file"])


def frame_of(found: Listing) -> pl.LazyFrame:
    """Return the rows of a scan of a dataset as a lazy frame."""
    assert isinstance(found.rows, PolarsRows)
    return found.rows.frame


def listing(
    dataset: DatasetReader,
    scan: str = LATEST,
    *,
    root: str | None = None,
    now: str | datetime | None = None,
) -> Listing:
    """Select one scan of a dataset; its results are cached as long as the dataset exists.

    The scan is selected immediately, so that a wrong name raises an error when a view is built. In
    a dataset without rows, a view has columns but no rows.
    """
    reference = None if now is None else moment(now)
    found = kept(dataset, ("gpfs.listing", scan), lambda: _listed(dataset, scan))
    if root is None and reference is None:
        return found
    return attrs.evolve(found, given_root=root, given_now=reference)


def _listed(dataset: DatasetReader, scan: str) -> Listing:
    if "gpfs.file" in dataset:
        return Listing.of(rows_of(dataset), scan)
    refusing = PolarsRows(deferred(no_scan, COLUMNS))
    return Listing(refusing, Scan("none", datetime(1970, 1, 1, tzinfo=UTC), None, 0))


def no_scan() -> pl.DataFrame:
    """Raise the DatasetError for a dataset without scans."""
    pick(())
    raise AssertionError("no scan can be picked")


def asked(
    dataset: DatasetReader,
    scan: str,
    by: Sequence[str] = (),
    *,
    root: str | None = None,
    now: str | None = None,
    **more: Any,
) -> tuple[Listing, Setting]:
    """Return the scan of a view, and the settings of its groupings.

    root, now, more: settings of the view; see ``named``.
    Raises UsageError if a grouping needs ages and the scan has no time.
    """
    setting = named(**more)
    found = listing(dataset, scan, root=root, now=now)
    if any(GROUPINGS[name].needs == "now" for name in by):
        _ = found.now
    return found, setting


def named(passwd: Path | None = None, group: Path | None = None, **more: Any) -> Setting:
    """Build settings of groupings, with the names of users and groups from files."""
    users, groups = read_names(passwd, "passwd"), read_names(group, "group")
    return Setting(user_names=users, group_names=groups, **more)


def exclusive(by: Sequence[str], *divided_by: str) -> tuple[str, ...]:
    """Return distinct grouping names; raise UsageError for one that the view already divides by."""
    for name in by:
        if name in divided_by:
            raise UsageError(
                f"this view already divides groups by {name}",
                remedy=f"leave {name} out, or use the view gpfs.usage with by={name}",
            )
    return tuple(dict.fromkeys(by))


_EVERY: Final = pl.lit(value=True)


def part_sum(values: str | pl.Expr, flag: pl.Expr = _EVERY) -> pl.Expr:
    """Sum the rows of an aggregation that have objects and a flag.

    The sum is null, not 0, if no object is known to have the flag and it is unknown for some.
    """
    values = pl.col(values) if isinstance(values, str) else values
    flag = flag & (pl.col("inodes") > 0)
    undecided = ~flag.any(ignore_nulls=True) & flag.is_null().any()
    return pl.when(~undecided).then(sum_or_none(values.filter(flag)))


def largest_first(table: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Sort groups by some columns, largest first; unknown values last."""
    return table.sort(list(columns), descending=True, nulls_last=True, maintain_order=True)


def collected(rows: pl.LazyFrame) -> pl.DataFrame:
    """Collect the rows with polars' streaming engine."""
    return rows.collect(engine="streaming")


def of_scan(
    found: Listing,
    columns: Mapping[str, pl.DataType],
    compute: Callable[[], pl.DataFrame],
    **said: str | None,
) -> pl.LazyFrame:
    """Build a view of one scan: the columns that ``compute`` returns, and the scan's name.

    said: columns with the same text in every row, placed before the scan's name.
    """
    texts = {**said, "scan": found.scan.label}

    def whole() -> pl.DataFrame:
        return compute().with_columns(pl.lit(text, TEXT).alias(n) for n, text in texts.items())

    return deferred(whole, {**columns, **dict.fromkeys(texts, TEXT)})
