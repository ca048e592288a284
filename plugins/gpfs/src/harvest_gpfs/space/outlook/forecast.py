"""The view ``gpfs.forecast``: how fast groups grow, and when they reach a capacity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.deferred import deferred
from harvest_toolkit.frames import fraction

from ...aggregation.bins import parse_size
from ...views.common import INT, TEXT, aggregated_schema
from .history import TREND, History

__all__ = ["forecast"]


def forecast(
    dataset: DatasetReader,
    by: Sequence[str],
    capacity: str | None = None,
    measure: str | None = None,
    **more: Any,
) -> pl.LazyFrame:
    """The view: a row for the whole, or for each group of the last scan."""
    limit = None if capacity is None else parse_size(capacity)
    sums = {"used_bytes": INT, "outlook": TEXT, "capacity_bytes": INT, "used_share": pl.Float64()}
    schema = {**aggregated_schema(tuple(dict.fromkeys(by))), **sums, **TREND}

    def compute() -> pl.DataFrame:
        history = History.of(dataset, by, measure, **more)
        rows = [
            {
                **dict(zip(history.names, group, strict=True)),
                **history.trend(group, limit),
                "capacity_bytes": limit,
            }
            for group in history.groups()
        ]
        table = pl.DataFrame(rows, {n: kind for n, kind in schema.items() if n != "used_share"})
        return table.with_columns(used_share=fraction("used_bytes", "capacity_bytes"))

    return deferred(compute, schema)
