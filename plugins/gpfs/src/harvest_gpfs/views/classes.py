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
    KNOWN,
    check_ages,
    deferred,
    exclusive,
    flagged,
    key_types,
    listing,
    named,
    typed,
)

if TYPE_CHECKING:
    from harvest import DatasetReader

__all__ = ["ages", "cold", "extensions", "heat", "sizes", "small"]

_SUMS = ("inodes", "size_bytes", "allocated_bytes")
_INT = pl.Int64()
_TEXT = pl.String()
_SUM_TYPES = dict.fromkeys(_SUMS, _INT)

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
        "time": _TEXT,
        "age": _TEXT,
        "above_days": _INT,
        "up_to_days": _INT,
        **_SUM_TYPES,
        "now": _TEXT,
        "scan": _TEXT,
    }

    found = listing(dataset, scan, now=now)
    reference = label_of(found.now)

    def compute() -> pl.DataFrame:
        classes = pl.DataFrame(
            [(label, *bounds) for label, bounds in zip(bins.labels, bins.bounds, strict=True)],
            schema={"age": _TEXT, "above_days": _INT, "up_to_days": _INT},
            orient="row",
        )
        tables = [
            _classed(found, classes, "age", grouping, Setting(ages=bins)).with_columns(
                pl.lit(time).alias("time")
            )
            for time, grouping in AGE_TIMES.items()
        ]
        table = pl.concat(tables).with_columns(pl.lit(reference).alias("now"))
        return typed(_of(found, table), schema)

    return deferred(compute, schema)


def sizes(dataset: DatasetReader, sizes: str = SIZES, scan: str = LATEST) -> pl.LazyFrame:
    """The view ``gpfs.sizes``: how many objects are how large; directories do not count."""
    bins = SizeBins.parse(sizes)
    schema = {"size": _TEXT, "above_bytes": _INT, "up_to_bytes": _INT, **_SUM_TYPES, "scan": _TEXT}

    found = listing(dataset, scan)

    def compute() -> pl.DataFrame:
        classes = pl.DataFrame(
            [(label, *bounds) for label, bounds in zip(bins.labels, bins.bounds, strict=True)],
            schema={"size": _TEXT, "above_bytes": _INT, "up_to_bytes": _INT},
            orient="row",
        )
        table = _classed(found, classes, "size", "size_bin", Setting(sizes=bins))
        return typed(_of(found, table), schema)

    return deferred(compute, schema)


def _classed(
    found: Listing, classes: pl.DataFrame, label: str, grouping: str, setting: Setting
) -> pl.DataFrame:
    """Sums of all classes, in their order; at the end what has none, if there is any."""
    table = found.aggregate([grouping], _SUMS, setting, directories=False)
    table = table.rename({grouping: label})
    every = classes.join(table, on=label, how="left", maintain_order="left")
    # that a class is empty is known where the class of some object is
    empty = pl.col("inodes").is_null() & (
        table.is_empty() or table[label].null_count() < table.height
    )
    every = every.with_columns(
        pl.when(empty).then(pl.lit(0, pl.Int64)).otherwise(pl.col(name)).alias(name)
        for name in _SUMS
    )
    return pl.concat([every, table.filter(pl.col(label).is_null())], how="diagonal")


def _of(found: Listing, table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.lit(found.scan.label).alias("scan"))


def extensions(dataset: DatasetReader, scan: str = LATEST) -> pl.LazyFrame:
    """The view ``gpfs.extensions``: objects by the suffix of their names, most bytes first."""
    schema = {"extension": _TEXT, **_SUM_TYPES, "scan": _TEXT}

    found = listing(dataset, scan)

    def compute() -> pl.DataFrame:
        table = found.aggregate(["extension"], _SUMS, directories=False)
        return typed(_of(found, _largest_first(table, "size_bytes")), schema)

    return deferred(compute, schema)


_HEAT = ("inodes", "size_bytes", "with_heat", "warm", "warm_bytes", "heat_units", "hottest")


def heat(dataset: DatasetReader, by: Sequence[str] = ("pool",), scan: str = LATEST) -> pl.LazyFrame:
    """The view ``gpfs.heat``: how warm the files of each pool are, most warm bytes first.

    Directories do not count.
    mean_heat: of the objects whose heat is known, exact to a billionth.
    """
    names = exclusive(by)
    counted = {name: _INT for name in _HEAT if name not in ("heat_units", "hottest")}
    means = {"mean_heat": pl.Float64(), "hottest": pl.Float64(), "scan": _TEXT}
    schema = {**key_types(names), **counted, **means}

    found = listing(dataset, scan)
    check_ages(found, names)

    def compute() -> pl.DataFrame:
        table = found.aggregate(names, _HEAT, directories=False)
        known = pl.col("with_heat") > 0
        mean = pl.when(known).then(pl.col("heat_units") / (pl.col("with_heat") * HEAT_UNIT))
        table = _largest_first(table.with_columns(mean.alias("mean_heat")), "warm_bytes")
        return typed(_of(found, table), schema)

    return deferred(compute, schema)


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
        **{f"cold_{name}": _INT for name in _SUMS},
        **_SUM_TYPES,
        **{f"known_{name}": _INT for name in KNOWN},
        "cold_share": pl.Float64(),
        "untimed": _INT,
        "now": _TEXT,
        "scan": _TEXT,
    }

    found = listing(dataset, scan, now=now, root=root)
    reference = label_of(found.now)

    def compute() -> pl.DataFrame:
        table = found.aggregate([*names, "cold"], _SUMS, setting, directories=False)
        untimed = pl.col("inodes").filter(pl.col("cold").is_null()).sum().alias("untimed")
        wide = flagged(table, "cold", "cold", names, _SUMS, untimed)
        wide = _largest_first(wide, "cold_size_bytes").with_columns(
            _share("cold_size_bytes", "known_size_bytes").alias("cold_share"),
            pl.lit(reference).alias("now"),
        )
        return typed(_of(found, wide), schema)

    return deferred(compute, schema)


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
        **{f"small_{name}": _INT for name in _SUMS},
        **_SUM_TYPES,
        "known_inodes": _INT,
        "small_share": pl.Float64(),
        "scan": _TEXT,
    }

    found = listing(dataset, scan, root=root)
    check_ages(found, names)

    def compute() -> pl.DataFrame:
        table = found.aggregate([*names, "small"], _SUMS, setting, directories=False)
        wide = flagged(table, "small", "small", names, _SUMS)
        wide = _largest_first(wide, "small_inodes").with_columns(
            _share("small_inodes", "known_inodes").alias("small_share")
        )
        return typed(_of(found, wide), schema)

    return deferred(compute, schema)


def _share(part: str, whole_sum: str) -> pl.Expr:
    """A part of a sum as a fraction; null where there is nothing to divide."""
    return pl.when(pl.col(whole_sum) > 0).then(pl.col(part) / pl.col(whole_sum))


def _largest_first(table: pl.DataFrame, column: str) -> pl.DataFrame:
    return table.sort(column, descending=True, nulls_last=True, maintain_order=True)
