"""The view ``notes``: what sources remarked on their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from harvest.model.frames import types_of

from .views import NOTES

if TYPE_CHECKING:
    from harvest.dataset import Dataset


def notes(dataset: Dataset) -> pl.LazyFrame:
    """One row per note, in the dataset's order."""
    noted = dataset.manifest.parts.with_notes()
    rows = [(note, part.origin, part.source) for part in noted for note in part.notes]
    return pl.LazyFrame(rows, schema=types_of(NOTES), orient="row")
