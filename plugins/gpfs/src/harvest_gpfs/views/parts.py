"""Views of classes of age and size, and of the part that is cold, small or freed by a policy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import fraction, sum_or_none

from ..aggregation.groupings import AgeBins, Setting, SizeBins, parse_age, parse_size
from ..aggregation.listing import Listing
from ..aggregation.scans import label_of
from . import common
from .common import INT, SUMS, TEXT, asked, exclusive, largest_first, listing, of_scan, types_of

_KNOWN: Final = ("inodes", "size_bytes")
"""What is summed of the objects of which it is known whether they are of the part."""


def cold(
    dataset: DatasetReader, by: Sequence[str], age: str, scan: str, **where: Any
) -> pl.LazyFrame:
    """The view ``gpfs.cold``."""
    names = exclusive(by, "cold")
    found, setting = asked(dataset, scan, cold_days=parse_age(age), **where)
    schema = _schema(names, "cold", _KNOWN, "cold_share", "untimed")
    compute = partial(_of_part, found, setting, names, "cold", "size_bytes")
    return of_scan(found, schema, compute, now=label_of(found.now))


def small(
    dataset: DatasetReader, by: Sequence[str], below: str, scan: str, **where: Any
) -> pl.LazyFrame:
    """The view ``gpfs.small``."""
    names = exclusive(by, "small")
    found, setting = asked(dataset, scan, names, small_below=parse_size(below), **where)
    schema = _schema(names, "small", ("inodes",), "small_share")
    return of_scan(found, schema, partial(_of_part, found, setting, names, "small", "inodes"))


def _of_part(
    found: Listing, setting: Setting, names: Sequence[str], part: str, sum_of: str
) -> pl.DataFrame:
    """Sums of a part by groups, with its share of what is known, and the most first."""
    table = found.aggregate([*names, part], SUMS, setting, directories=False)
    share = fraction(f"{part}_{sum_of}", f"known_{sum_of}").alias(f"{part}_share")
    return largest_first(_flagged(table, part, names), f"{part}_{sum_of}").with_columns(share)


_AGES: Final = ("access_age", "modify_age")


def policy(
    dataset: DatasetReader, policy: str, by: Sequence[str], scan: str, **where: Any
) -> pl.LazyFrame:
    """The view ``gpfs.policy``; what is older by both times ``gpfs.cold`` calls cold."""
    names = exclusive(by, *_AGES)
    bins = AgeBins.parse(policy)
    found, setting = asked(dataset, scan, ages=bins, **where)
    # classes of age as the days that all of their objects are older than; -1 for the future
    lowest = [-1 if low is None else low for low, _ in bins.bounds]

    def compute() -> pl.DataFrame:
        table = found.aggregate([*names, *_AGES], SUMS, setting, directories=False).with_columns(
            pl.col(name).replace_strict(bins.labels, lowest, default=None, return_dtype=INT)
            for name in _AGES
        )
        tables = []
        for days in bins.edges:
            # null where it is not known whether a class is older
            access, modify = (pl.col(name) >= days for name in _AGES)
            tests = {"access": access, "modify": modify, "both": access & modify}
            for time, freed in tests.items():
                sums = _flagged(table.with_columns(freed=freed), "freed", names)
                sums = largest_first(sums, "freed_size_bytes")
                tables.append(sums.with_columns(days=pl.lit(days, INT), time=pl.lit(time)))
        return pl.concat(tables).with_columns(
            freed_share=fraction("freed_size_bytes", "known_size_bytes")
        )

    limits = {"days": INT, "time": TEXT}
    schema = _schema(names, "freed", _KNOWN, "freed_share", "untimed", **limits)
    return of_scan(found, schema, compute, now=label_of(found.now))


def _schema(
    names: Sequence[str], part: str, known: Sequence[str], *more: str, **limits: pl.DataType
) -> dict[str, pl.DataType]:
    parts, judged = (f"{part}_{name}" for name in SUMS), (f"known_{name}" for name in known)
    sums = types_of(*parts, *SUMS, *judged, *more)
    return {**common.aggregated_schema(names), **limits, **sums}


def _flagged(table: pl.DataFrame, flag: str, by: Sequence[str]) -> pl.DataFrame:
    """Groups by ``by`` with their sums, and beside them the sums of what has a flag.

    ``known_inodes`` and ``known_size_bytes`` are sums of what is known to have it or not: what
    shares are of.  ``untimed``: objects of which it is not known.
    table: an aggregation of ``SUMS`` by ``by`` and ``flag``.
    """
    known = pl.col(flag).is_not_null()
    sums = (
        *(sum_or_none(name).alias(name) for name in SUMS),
        *(common.part_sum(name, pl.col(flag)).alias(f"{flag}_{name}") for name in SUMS),
        *(
            pl.when(known.any()).then(sum_or_none(pl.col(n).filter(known))).alias(f"known_{n}")
            for n in _KNOWN
        ),
        pl.col("inodes").filter(~known).sum().alias("untimed"),
    )
    return table.group_by(by, maintain_order=True).agg(sums) if by else table.select(sums)


def ages(dataset: DatasetReader, ages: str, scan: str, now: str | None = None) -> pl.LazyFrame:
    """The view ``gpfs.ages``; a class without objects has a row, too."""
    bins = AgeBins.parse(ages)
    classes = _table(bins, "age", "above_days", "up_to_days")
    found = listing(dataset, scan, now=now)

    def compute() -> pl.DataFrame:
        setting, times = Setting(ages=bins), ("access", "modify")
        tables = (_classed(found, classes, f"{time}_age", setting) for time in times)
        return pl.concat(t.with_columns(time=pl.lit(n)) for t, n in zip(tables, times, strict=True))

    schema = {"time": TEXT, **classes.schema, **types_of(*SUMS)}
    return of_scan(found, schema, compute, now=label_of(found.now))


def sizes(dataset: DatasetReader, sizes: str, scan: str) -> pl.LazyFrame:
    """The view ``gpfs.sizes``."""
    bins = SizeBins.parse(sizes)
    classes = _table(bins, "size", "above_bytes", "up_to_bytes")
    found = listing(dataset, scan)

    schema, setting = {**classes.schema, **types_of(*SUMS)}, Setting(sizes=bins)
    return of_scan(found, schema, partial(_classed, found, classes, "size_bin", setting))


def _table(bins: AgeBins | SizeBins, label: str, above: str, up_to: str) -> pl.DataFrame:
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
