"""Views of scans by classes of age and of size."""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader

from ...aggregation.bins import AgeBins, SizeBins
from ...aggregation.groupings import Setting
from ...aggregation.listing import Listing
from ...aggregation.scans import label_of
from ..common import INT, SUMS, TEXT, listing, of_scan, types_of

__all__ = ["ages", "sizes"]


def ages(dataset: DatasetReader, ages: str, scan: str, now: str | None = None) -> pl.LazyFrame:
    """The view ``gpfs.ages``: how long ago objects were accessed and modified.

    Directories do not count.  A class without objects has a row too; null is "not known", as are
    the sums of all classes where no time is.
    """
    bins = AgeBins.parse(ages)
    classes = _table(bins, "age", "above_days", "up_to_days")
    found = listing(dataset, scan, now=now)

    def compute() -> pl.DataFrame:
        return pl.concat(
            _classed(found, classes, f"{time}_age", Setting(ages=bins)).with_columns(
                time=pl.lit(time)
            )
            for time in ("access", "modify")
        )

    schema = {"time": TEXT, **classes.schema, **types_of(*SUMS)}
    return of_scan(found, schema, compute, now=label_of(found.now))


def sizes(dataset: DatasetReader, sizes: str, scan: str) -> pl.LazyFrame:
    """The view ``gpfs.sizes``: how many objects are how large; directories do not count."""
    bins = SizeBins.parse(sizes)
    classes = _table(bins, "size", "above_bytes", "up_to_bytes")
    found = listing(dataset, scan)

    schema, setting = {**classes.schema, **types_of(*SUMS)}, Setting(sizes=bins)
    return of_scan(found, schema, lambda: _classed(found, classes, "size_bin", setting))


def _table(bins: AgeBins | SizeBins, label: str, above: str, up_to: str) -> pl.DataFrame:
    """Classes with their bounds, in their order."""
    rows = [(name, *bounds) for name, bounds in zip(bins.labels, bins.bounds, strict=True)]
    return pl.DataFrame(rows, schema={label: TEXT, above: INT, up_to: INT}, orient="row")


def _classed(
    found: Listing, classes: pl.DataFrame, grouping: str, setting: Setting
) -> pl.DataFrame:
    """Sums of all classes, in their order; at the end what has none, if there is any."""
    label = classes.columns[0]
    table = found.aggregate([grouping], SUMS, setting, directories=False)
    table = table.rename({grouping: label})
    # that a class is empty is known where the class of some object is
    some = table.is_empty() or table[label].null_count() < table.height
    empty = pl.col("inodes").is_null() & some
    every = classes.join(table, on=label, how="left", maintain_order="left").with_columns(
        pl.when(empty).then(0).otherwise(name).alias(name) for name in SUMS
    )
    return pl.concat([every, table.filter(pl.col(label).is_null())], how="diagonal")
