"""The view ``findings``: what rules conclude from a dataset, for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
import polars as pl

from harvest.model.frames import types_of

from .views import FINDINGS

if TYPE_CHECKING:
    from harvest.dataset import Dataset


def findings(dataset: Dataset) -> pl.LazyFrame:
    """One row per finding: ``settings`` of its view are a JSON object."""
    rows = [found.to_dict() for found in dataset.findings().found]
    for row in rows:
        row["settings"] = orjson.dumps(row["settings"]).decode()
    return pl.LazyFrame(rows, schema=types_of(FINDINGS))
