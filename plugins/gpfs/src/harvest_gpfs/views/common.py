"""Common parts of all views of scans: their scan and their settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import attrs
import polars as pl

from harvest import DatasetReader, UsageError
from harvest_toolkit.deferred import deferred
from harvest_toolkit.frames import sum_or_none
from harvest_toolkit.kept import kept

from ..aggregation.definition import Aggregation, int64_of
from ..aggregation.files import COLUMNS, no_rows
from ..aggregation.groupings import GROUPINGS, Setting, read_names
from ..aggregation.listing import Listing
from ..aggregation.on_polars import PolarsRows
from ..aggregation.scans import LATEST, Scan, moment, pick

INT, TEXT, TIME = pl.Int64(), pl.String(), pl.Datetime("us", "UTC")

SUMS: Final = ("inodes", "size_bytes", "allocated_bytes")
"""Sums of most views."""


def types_of(*names: str) -> dict[str, pl.DataType]:
    """The columns of a view that are counts and sums, and shares of these."""
    return {name: pl.Float64() if name.endswith("share") else INT for name in names}


def objects_with(*names: str) -> dict[str, pl.DataType]:
    """Columns of a view of objects: those of ``gpfs.file``, ``user`` and ``paths``."""
    return {name: ({"user": TEXT, "paths": INT} | COLUMNS)[name] for name in names}


def rows_of(dataset: DatasetReader) -> PolarsRows:
    """All rows of ``gpfs.file``, asked by polars' streaming engine."""
    return PolarsRows(dataset["gpfs.file"])


def frame_of(found: Listing) -> pl.LazyFrame:
    """The rows of a scan of a dataset."""
    assert isinstance(found.rows, PolarsRows)
    return found.rows.frame


def listing(
    dataset: DatasetReader,
    scan: str = LATEST,
    *,
    root: str | None = None,
    now: str | datetime | None = None,
) -> Listing:
    """One scan of a dataset; results about it are kept as long as the dataset.

    The scan is chosen immediately, so that a wrong name is reported when a view is made.  In a
    dataset without rows, a view has columns but no rows.
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
    """Raise the DatasetError of a dataset that holds no scan."""
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
    """The scan of a view, and the references of its groupings.

    root, now, more: settings of the view, as it was given them; see ``named``.
    Raises UsageError where a grouping needs ages and the scan has no time.
    """
    setting = named(**more)
    found = listing(dataset, scan, root=root, now=now)
    if any(GROUPINGS[name].needs == "now" for name in by):
        _ = found.now
    return found, setting


def named(passwd: Path | None = None, group: Path | None = None, **more: Any) -> Setting:
    """Settings of groupings, with the names of users and groups from files."""
    users, groups = read_names(passwd, "passwd"), read_names(group, "group")
    return Setting(user_names=users, group_names=groups, **more)


def exclusive(by: Sequence[str], *divided_by: str) -> tuple[str, ...]:
    """Names of groupings; raises UsageError for one that the view divides each group by itself."""
    for name in by:
        if name in divided_by:
            raise UsageError(
                f"this view already divides groups by {name}",
                remedy=f"leave {name} out, or use the view gpfs.usage with by={name}",
            )
    return tuple(dict.fromkeys(by))


def aggregated_schema(by: Sequence[str], names: Sequence[str] = ()) -> dict[str, pl.DataType]:
    """The columns that an aggregation gives."""
    task = Aggregation(tuple(by), tuple(names), Setting(now=datetime(2000, 1, 1, tzinfo=UTC)))
    return int64_of(task.result(task.partial(no_rows()).collect()).schema)


def part_sum(values: str | pl.Expr, flag: pl.Expr) -> pl.Expr:
    """The sum over rows of an aggregation with a flag.

    Null where no object is known to have it and some may: that is not 0.
    """
    values = pl.col(values) if isinstance(values, str) else values
    flag = flag & (pl.col("inodes") > 0)
    undecided = ~flag.any(ignore_nulls=True) & flag.is_null().any()
    return pl.when(~undecided).then(sum_or_none(values.filter(flag)))


def largest_first(table: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """The largest groups by some columns first; unknown ones last."""
    return table.sort(list(columns), descending=True, nulls_last=True, maintain_order=True)


def collected(rows: pl.LazyFrame) -> pl.DataFrame:
    """The rows, by polars' streaming engine."""
    return rows.collect(engine="streaming")


def of_scan(
    found: Listing,
    columns: Mapping[str, pl.DataType],
    compute: Callable[[], pl.DataFrame],
    **said: str | None,
) -> pl.LazyFrame:
    """A view of one scan: the columns that ``compute`` gives, and which scan it is.

    said: texts that stand in every row, before the scan.
    """
    texts = {**said, "scan": found.scan.label}

    def whole() -> pl.DataFrame:
        return compute().with_columns(pl.lit(text, TEXT).alias(n) for n, text in texts.items())

    return deferred(whole, {**columns, **dict.fromkeys(texts, TEXT)})
