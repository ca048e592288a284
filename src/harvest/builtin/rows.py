"""The view ``findings``: what rules conclude from a dataset, for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson
import polars as pl

if TYPE_CHECKING:
    from harvest.dataset import Dataset

_SCHEMA: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "severity": pl.String,
    "rule": pl.String,
    "text": pl.String,
    "certainty": pl.List(pl.String),
    "judged": pl.Int64,
    "unknown": pl.Int64,
    "advice": pl.String,
    "view": pl.String,
    "settings": pl.String,
    "where": pl.String,
    "rows": pl.Int64,
    "reference": pl.String,
}


def findings(dataset: Dataset) -> pl.LazyFrame:
    """One row per finding: ``settings`` of its view are a JSON object."""
    rows = [found.to_dict() for found in dataset.findings().found]
    for row in rows:
        row["settings"] = orjson.dumps(row["settings"]).decode()
    return pl.LazyFrame(rows, schema=_SCHEMA)
