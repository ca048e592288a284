"""Views of scans by classes: ages, sizes, heat, extensions, and what is cold or small."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ..aggregation.bins import AGES, SIZES, AgeBins, SizeBins, parse_age, parse_size
from ..aggregation.groupings import Setting
from ..aggregation.listing import Listing
from ..aggregation.metrics import HEAT_UNIT
from ..aggregation.scans import LATEST, label_of
from .common import (
    INT,
    KNOWN,
    SHARE,
    SUMS,
    TEXT,
    check_ages,
    exclusive,
    flagged,
    key_types,
    largest_first,
    listing,
    named,
    of_scan,
    share_of,
)

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["ages", "cold", "extensions", "heat", "sizes", "small"]

_SUM_TYPES = dict.fromkeys(SUMS, INT)

AGE_TIMES = {"access": "access_age", "modify": "modify_age"}


def ages(
    dataset: DatasetReader, ages: str = AGES, scan: str = LATEST, now: str | None = None
) -> pl.LazyFrame:
    """The view ``gpfs.ages``: how long ago objects were accessed and modified.

    Directories do not count.  A class without objects has a row too; null is "not known", as are
    the sums of all classes where no time is.
    """
    bins = AgeBins.parse(ages)
    schema = {
        "time": TEXT,
        "age": TEXT,
        "above_days": INT,
        "up_to_days": INT,
        **_SUM_TYPES,
    }

    found = listing(dataset, scan, now=now)

    def compute() -> pl.DataFrame:
        classes = _table(bins, "age", "above_days", "up_to_days")
        return pl.concat(
            _classed(found, classes, grouping, Setting(ages=bins)).with_columns(
                pl.lit(time).alias("time")
            )
            for time, grouping in AGE_TIMES.items()
        )

    return of_scan(found, schema, compute, now=label_of(found.now))


def sizes(dataset: DatasetReader, sizes: str = SIZES, scan: str = LATEST) -> pl.LazyFrame:
    """The view ``gpfs.sizes``: how many objects are how large; directories do not count."""
    bins = SizeBins.parse(sizes)
    classes = _table(bins, "size", "above_bytes", "up_to_bytes")

    found = listing(dataset, scan)

    def compute() -> pl.DataFrame:
        return _classed(found, classes, "size_bin", Setting(sizes=bins))

    return of_scan(found, {**classes.schema, **_SUM_TYPES}, compute)


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
    every = classes.join(table, on=label, how="left", maintain_order="left")
    # that a class is empty is known where the class of some object is
    empty = pl.col("inodes").is_null() & (
        table.is_empty() or table[label].null_count() < table.height
    )
    every = every.with_columns(
        pl.when(empty).then(pl.lit(0, pl.Int64)).otherwise(pl.col(name)).alias(name)
        for name in SUMS
    )
    return pl.concat([every, table.filter(pl.col(label).is_null())], how="diagonal")


def extensions(dataset: DatasetReader, scan: str = LATEST) -> pl.LazyFrame:
    """The view ``gpfs.extensions``: objects by the suffix of their names, most bytes first."""
    found = listing(dataset, scan)

    def compute() -> pl.DataFrame:
        return largest_first(found.aggregate(["extension"], SUMS, directories=False), "size_bytes")

    return of_scan(found, {"extension": TEXT, **_SUM_TYPES}, compute)


_HEAT = ("inodes", "size_bytes", "with_heat", "warm", "warm_bytes", "heat_units", "hottest")


def heat(dataset: DatasetReader, by: Sequence[str] = ("pool",), scan: str = LATEST) -> pl.LazyFrame:
    """The view ``gpfs.heat``: how warm the files of each pool are, most warm bytes first.

    Directories do not count.
    mean_heat: of the objects whose heat is known, exact to a billionth.
    """
    names = exclusive(by)
    counted = {name: INT for name in _HEAT if name not in ("heat_units", "hottest")}
    schema = {**key_types(names), **counted, "mean_heat": SHARE, "hottest": SHARE}

    found = listing(dataset, scan)
    check_ages(found, names)

    def compute() -> pl.DataFrame:
        table = found.aggregate(names, _HEAT, directories=False)
        known = pl.col("with_heat") > 0
        mean = pl.when(known).then(pl.col("heat_units") / (pl.col("with_heat") * HEAT_UNIT))
        return largest_first(table.with_columns(mean.alias("mean_heat")), "warm_bytes")

    return of_scan(found, schema, compute)


def cold(
    dataset: DatasetReader,
    by: Sequence[str] = ("top",),
    age: str | int = "1y",
    scan: str = LATEST,
    now: str | None = None,
    root: str | None = None,
    top_depth: int = 1,
    passwd: Path | None = None,
    group: Path | None = None,
) -> pl.LazyFrame:
    """The view ``gpfs.cold``: what was neither accessed nor modified for so long, by groups.

    Directories do not count; of ``untimed`` objects it is not known whether they are cold, and
    ``cold_share`` is of the others.
    """
    names = exclusive(by, ["cold"])
    setting = named(passwd, group, cold_days=parse_age(age), top_depth=top_depth)
    schema = {
        **key_types(names),
        **{f"cold_{name}": INT for name in SUMS},
        **_SUM_TYPES,
        **{f"known_{name}": INT for name in KNOWN},
        "cold_share": SHARE,
        "untimed": INT,
    }

    found = listing(dataset, scan, now=now, root=root)

    def compute() -> pl.DataFrame:
        table = found.aggregate([*names, "cold"], SUMS, setting, directories=False)
        wide = largest_first(flagged(table, "cold", "cold", names), "cold_size_bytes")
        return wide.with_columns(
            share_of("cold_size_bytes", "known_size_bytes").alias("cold_share")
        )

    return of_scan(found, schema, compute, now=label_of(found.now))


def small(
    dataset: DatasetReader,
    by: Sequence[str] = ("top",),
    below: str | int = "64K",
    scan: str = LATEST,
    root: str | None = None,
    top_depth: int = 1,
    passwd: Path | None = None,
    group: Path | None = None,
) -> pl.LazyFrame:
    """The view ``gpfs.small``: objects below a size, by groups; directories do not count."""
    names = exclusive(by, ["small"])
    setting = named(passwd, group, small_below=parse_size(below), top_depth=top_depth)
    schema = {
        **key_types(names),
        **{f"small_{name}": INT for name in SUMS},
        **_SUM_TYPES,
        "known_inodes": INT,
        "small_share": SHARE,
    }

    found = listing(dataset, scan, root=root)
    check_ages(found, names)

    def compute() -> pl.DataFrame:
        table = found.aggregate([*names, "small"], SUMS, setting, directories=False)
        wide = largest_first(flagged(table, "small", "small", names), "small_inodes")
        return wide.with_columns(share_of("small_inodes", "known_inodes").alias("small_share"))

    return of_scan(found, schema, compute)
