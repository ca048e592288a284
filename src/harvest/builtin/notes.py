"""The view ``notes``: what sources remarked on their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

if TYPE_CHECKING:
    from harvest.dataset import Dataset

_SCHEMA: Final = {"note": pl.String, "origin": pl.String, "source": pl.String}


def notes(dataset: Dataset) -> pl.LazyFrame:
    """One row per note, in the dataset's order."""
    noted = dataset.manifest.parts.with_notes()
    rows = [(note, part.origin, part.source) for part in noted for note in part.notes]
    return pl.LazyFrame(rows, schema=_SCHEMA, orient="row")
