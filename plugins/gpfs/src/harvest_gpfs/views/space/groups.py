"""Views of what objects have in common: suffixes of names, heat, small size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import fraction

from ...aggregation.bins import parse_size
from ...measures import HEAT_UNIT
from ..common import (
    SUMS,
    TEXT,
    aggregated_schema,
    asked,
    exclusive,
    flagged,
    largest_first,
    listing,
    of_scan,
    types_of,
)

__all__ = ["extensions", "heat", "small"]


def extensions(dataset: DatasetReader, scan: str) -> pl.LazyFrame:
    """The view ``gpfs.extensions``: objects by the suffix of their names, most bytes first."""
    found = listing(dataset, scan)

    def compute() -> pl.DataFrame:
        return largest_first(found.aggregate(["extension"], SUMS, directories=False), "size_bytes")

    return of_scan(found, {"extension": TEXT, **types_of(*SUMS)}, compute)


_WARMTH = ("inodes", "size_bytes", "with_heat", "warm", "warm_bytes")


def heat(dataset: DatasetReader, by: Sequence[str], scan: str) -> pl.LazyFrame:
    """The view ``gpfs.heat``: how warm the files of each pool are, most warm bytes first.

    Directories do not count.
    mean_heat: of the objects whose heat is known, exact to a billionth.
    """
    names = exclusive(by)
    found, setting = asked(dataset, scan, names)

    def compute() -> pl.DataFrame:
        metrics = (*_WARMTH, "heat_units", "hottest")
        table = found.aggregate(names, metrics, setting, directories=False)
        mean = fraction("heat_units", pl.col("with_heat") * HEAT_UNIT)
        return largest_first(table.with_columns(mean_heat=mean), "warm_bytes")

    means = dict.fromkeys(("mean_heat", "hottest"), pl.Float64())
    return of_scan(found, {**aggregated_schema(names), **types_of(*_WARMTH), **means}, compute)


_SMALL = types_of(*(f"small_{name}" for name in SUMS), *SUMS, "known_inodes", "small_share")


def small(
    dataset: DatasetReader, by: Sequence[str], below: str, scan: str, **where: Any
) -> pl.LazyFrame:
    """The view ``gpfs.small``: objects below a size, by groups; directories do not count."""
    names = exclusive(by, "small")
    found, setting = asked(dataset, scan, names, small_below=parse_size(below), **where)

    def compute() -> pl.DataFrame:
        table = found.aggregate([*names, "small"], SUMS, setting, directories=False)
        return largest_first(flagged(table, "small", names), "small_inodes").with_columns(
            small_share=fraction("small_inodes", "known_inodes")
        )

    return of_scan(found, {**aggregated_schema(names), **_SMALL}, compute)
