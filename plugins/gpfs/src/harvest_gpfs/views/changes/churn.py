"""The view ``gpfs.churn``: what happened to objects between two scans, by directory."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from harvest import DatasetReader, UsageError
from harvest_toolkit.choices import choices
from harvest_toolkit.deferred import deferred

from ...aggregation.groupings import Setting
from ...aggregation.listing import Listing, common_root, list_scans
from ...aggregation.on_polars import PolarsRows
from ...aggregation.scans import ALL, LATEST, Scan, pick
from ..common import TEXT, named, no_scan, rows_of, types_of
from .pairs import SUMS, flows, summed

__all__ = ["changes_of", "churn", "compare", "ends"]


def churn(
    dataset: DatasetReader,
    top_depth: int,
    old: str | None = None,
    new: str | None = None,
    root: str | None = None,
) -> pl.LazyFrame:
    """The view ``gpfs.churn``: changes between two scans per top-level directory.

    old, new: as a scan is named; the latest two unless given.
    """
    schema = {"top": TEXT, **types_of(*SUMS), "old_scan": TEXT, "new_scan": TEXT}
    if "gpfs.file" not in dataset:
        return deferred(no_scan, schema)
    rows = rows_of(dataset)
    earlier, after = ends(list_scans(rows), old, new, "old=, new=")
    setting = named(top_depth=top_depth)
    return deferred(lambda: compare((rows, earlier[-1]), (rows, after), root, setting), schema)


def compare(
    old: tuple[PolarsRows, Scan], new: tuple[PolarsRows, Scan], root: str | None, setting: Setting
) -> pl.DataFrame:
    """The view's rows for two scans, each given with the rows that it is among."""
    found, within = changes_of(old, new, ["top"], root, setting)
    return summed(found, ["top"], within).with_columns(
        old_scan=pl.lit(old[1].label), new_scan=pl.lit(new[1].label)
    )


def changes_of(
    old: tuple[PolarsRows, Scan],
    new: tuple[PolarsRows, Scan],
    keys: Sequence[str],
    root: str | None,
    setting: Setting,
) -> tuple[pl.DataFrame, Setting]:
    """The flows between two scans (see ``pairs``), and the setting with their common root."""
    (old_rows, before), (new_rows, after) = old, new
    earlier, later = old_rows.of(before), new_rows.of(after)
    common = root if root is not None else common_root(earlier, later)
    within = Listing(later, after, common).prepared(keys, setting)
    return flows(earlier, later, before.rows + after.rows, keys, within), within


def ends(
    scans: Sequence[Scan], first: str | None, last: str | None, words: str
) -> tuple[list[Scan], Scan]:
    """The scans from which one may be compared, oldest first, and the one it is compared with.

    first, last: as scans are named; without a first all that are earlier than the last, without a
    last the latest.  words: how these are given, for messages.
    Raises UsageError where there are not two.
    """
    if ALL in (first, last):
        raise UsageError("a scan is compared with one other", remedy=f"name it: {words}")
    after = pick(scans, LATEST if last is None else last)
    if first is None:
        found = [s for s in scans if s.time and after.time and s.time < after.time]
    else:
        found = [pick(scans, first)]
    there = choices("there is", [scan.label for scan in scans])
    if after in found:
        raise UsageError(
            f"this scan would be compared with itself; {there}",
            where=after.label,
            remedy="name two different ones",
        )
    if not found:
        raise UsageError(
            f"no earlier scan is known to compare with; {there}",
            where=after.label,
            remedy=f"harvest another scan into the dataset, or name both that are meant: {words}",
        )
    return found, after
