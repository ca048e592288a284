"""The view ``gpfs.cold``: what was neither accessed nor modified for long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import fraction

from ...aggregation.bins import parse_age
from ...aggregation.scans import label_of
from ..common import (
    KNOWN,
    SUMS,
    aggregated_schema,
    asked,
    exclusive,
    flagged,
    largest_first,
    of_scan,
    types_of,
)

__all__ = ["cold"]

_COLUMNS = types_of(
    *(f"cold_{name}" for name in SUMS),
    *SUMS,
    *(f"known_{name}" for name in KNOWN),
    "cold_share",
    "untimed",
)


def cold(
    dataset: DatasetReader, by: Sequence[str], age: str, scan: str, **where: Any
) -> pl.LazyFrame:
    """The view ``gpfs.cold``: what was neither accessed nor modified for so long, by groups.

    Directories do not count; of ``untimed`` objects it is not known whether they are cold, and
    ``cold_share`` is of the others.
    """
    names = exclusive(by, "cold")
    found, setting = asked(dataset, scan, cold_days=parse_age(age), **where)

    def compute() -> pl.DataFrame:
        table = found.aggregate([*names, "cold"], SUMS, setting, directories=False)
        return largest_first(flagged(table, "cold", names), "cold_size_bytes").with_columns(
            cold_share=fraction("cold_size_bytes", "known_size_bytes")
        )

    schema = {**aggregated_schema(names), **_COLUMNS}
    return of_scan(found, schema, compute, now=label_of(found.now))
