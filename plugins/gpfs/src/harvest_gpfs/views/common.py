"""What all views of scans stand on: the scan they are of, and their settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import attrs
import polars as pl

from harvest import UsageError
from harvest_toolkit.deferred import deferred

from ..aggregation.definition import Aggregation
from ..aggregation.files import no_rows
from ..aggregation.groupings import Setting, groupings_of
from ..aggregation.listing import Listing
from ..aggregation.metrics import metrics_of
from ..aggregation.names import read_names
from ..aggregation.on_polars import PolarsRows
from ..aggregation.scans import LATEST, Scan, moment, pick

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = [
    "INT",
    "KNOWN",
    "SHARE",
    "SUMS",
    "TEXT",
    "aggregated_schema",
    "check_ages",
    "collected",
    "deferred",
    "exclusive",
    "flagged",
    "frame_of",
    "grouping_names",
    "key_types",
    "known_sum",
    "largest_first",
    "listing",
    "metric_names",
    "named",
    "no_scan",
    "of_scan",
    "part_sum",
    "rows_of",
    "share_of",
]

INT, TEXT, SHARE = pl.Int64(), pl.String(), pl.Float64()

SUMS: Final = ("inodes", "size_bytes", "allocated_bytes")
"""What most views sum of their groups."""

KNOWN: Final = ("inodes", "size_bytes")
"""What ``flagged`` sums of the objects of which a flag is known."""


def rows_of(dataset: DatasetReader) -> PolarsRows:
    """All rows of ``gpfs.file``, asked by polars' streaming engine."""
    return PolarsRows(dataset["gpfs.file"], "streaming")


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
    """One scan of a dataset; what is found out about it is kept as long as the dataset is.

    Which scan it is is found out here and now, so that a wrong wish is
    reported when a view is asked for.  Where the dataset has no rows, the columns
    of a view can be asked for, but none of its rows.
    """
    reference = None if now is None else moment(now)
    known = _KNOWN.setdefault(dataset, {})
    if scan not in known:
        some = "gpfs.file" in dataset
        known[scan] = Listing.of(rows_of(dataset), str(scan)) if some else _no_listing()
    if root is None and reference is None:
        return known[scan]
    return attrs.evolve(known[scan], given_root=root, given_now=reference, same_scan=known[scan])


def no_scan() -> pl.DataFrame:
    """Raise the DatasetError of a dataset that holds no scan."""
    pick(())
    raise AssertionError("no scan can be picked")


def _no_listing() -> Listing:
    """The listing of a dataset without one, which refuses to be read."""
    rows = deferred(no_scan, no_rows().collect_schema())
    never = datetime(1970, 1, 1, tzinfo=UTC)
    return Listing(PolarsRows(rows, "streaming"), Scan("none", never, None, 0))


_KNOWN: WeakKeyDictionary[DatasetReader, dict[str, Listing]] = WeakKeyDictionary()


def check_ages(found: Listing, names: Sequence[str]) -> None:
    """Raise UsageError where groupings count ages and nothing says from when."""
    if any(grouping.needs == "now" for grouping in groupings_of(names)):
        _ = found.now


def grouping_names(by: str | Sequence[str]) -> tuple[str, ...]:
    """Names of groupings; raises UsageError for an unknown one."""
    return tuple(grouping.name for grouping in groupings_of(by))


def exclusive(by: str | Sequence[str], divided_by: Sequence[str] = ()) -> tuple[str, ...]:
    """Names of groupings; raises UsageError for one that the view divides by itself.

    divided_by: groupings that the view itself divides each group by.
    """
    names = grouping_names(by)
    for name in names:
        if name in divided_by:
            raise UsageError(
                f"by={name} is what this view divides each group by",
                remedy=f"leave {name} out, or ask the view gpfs.usage by={name}",
            )
    return names


def key_types(names: Sequence[str]) -> dict[str, pl.DataType]:
    """The columns of groupings."""
    return {name: kind for name, kind in aggregated_schema(names, ()).items() if name in names}


def metric_names(names: str | Sequence[str]) -> tuple[str, ...]:
    """Names of metrics; raises UsageError for an unknown one."""
    return tuple(metric.name for metric in metrics_of(names))


def named(passwd: Path | None, group: Path | None, **more: Any) -> Setting:
    """Settings of groupings, with the names of users and groups from files."""
    return Setting(
        user_names=read_names(passwd, "passwd") if passwd is not None else {},
        group_names=read_names(group, "group") if group is not None else {},
        **more,
    )


def aggregated_schema(by: Sequence[str], names: Sequence[str]) -> dict[str, pl.DataType]:
    """The columns that an aggregation gives."""
    task = Aggregation(tuple(by), tuple(names), Setting(now=datetime(2000, 1, 1, tzinfo=UTC)))
    empty = task.partial(no_rows()).collect()
    return dict(task.result(empty).schema)


def flagged(table: pl.DataFrame, flag: str, prefix: str, by: Sequence[str]) -> pl.DataFrame:
    """Groups by ``by`` with their sums, and beside them the sums of what has a flag.

    ``known_inodes`` and ``known_size_bytes`` are sums of what is known to have it or not: what
    shares are of.  ``untimed``: objects of which it is not known.
    table: an aggregation of ``SUMS`` by ``by`` and ``flag``.
    """
    known = pl.col(flag).is_not_null()
    sums = [known_sum(pl.col(name)).alias(name) for name in SUMS]
    parts = [part_sum(pl.col(n), pl.col(flag)).alias(f"{prefix}_{n}") for n in SUMS]
    parts += [
        pl.when(known.any()).then(known_sum(pl.col(n).filter(known))).alias(f"known_{n}")
        for n in KNOWN
    ]
    parts.append(pl.col("inodes").filter(~known).sum().alias("untimed"))
    if by:
        return table.group_by(by, maintain_order=True).agg(*sums, *parts)
    return table.select(*sums, *parts)


def known_sum(values: pl.Expr) -> pl.Expr:
    """The sum; null where there are values but none is known."""
    unknown = (values.len() > 0) & (values.count() == 0)
    return pl.when(~unknown).then(values.sum())


def part_sum(values: pl.Expr, flag: pl.Expr) -> pl.Expr:
    """The sum of what has a flag, of the rows of an aggregation.

    Null where nothing is known to have it and something may: that is not 0.
    """
    flag = flag & (pl.col("inodes") > 0)
    undecided = ~flag.any(ignore_nulls=True) & flag.is_null().any()
    return pl.when(~undecided).then(known_sum(values.filter(flag)))


def share_of(part: str, whole: str | int | pl.Expr | None) -> pl.Expr:
    """A part as a fraction of another column, or of a number; null where that is nothing."""
    if not isinstance(whole, pl.Expr):
        whole = pl.col(whole) if isinstance(whole, str) else pl.lit(whole, INT)
    return pl.when(whole > 0).then(pl.col(part) / whole)


def largest_first(table: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """The groups of most by some columns first; those of which it is not known last."""
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
    schema = {**columns, **dict.fromkeys(texts, TEXT)}

    def whole() -> pl.DataFrame:
        table = compute().with_columns(pl.lit(text, TEXT).alias(n) for n, text in texts.items())
        return table.select(pl.col(name).cast(kind) for name, kind in schema.items())

    return deferred(whole, schema)
