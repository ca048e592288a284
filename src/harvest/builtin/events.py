"""The view ``events``: every row of every record type, in one shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from harvest.model.events import EVENTS_SCHEMA, project_lazy

if TYPE_CHECKING:
    from harvest.dataset.dataset import Dataset


def events(dataset: Dataset) -> pl.LazyFrame:
    """All rows of the dataset as events, type by type, each in the dataset's order."""
    frames = [project_lazy(dataset.record_type(name), dataset[name]) for name in dataset]
    if not frames:
        empty: pl.DataFrame = pl.from_arrow(EVENTS_SCHEMA.empty_table())  # type: ignore[assignment]
        return empty.lazy()
    return pl.concat(frames)
