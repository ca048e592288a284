"""The rows of the views over every dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
import polars as pl

from harvest.model.events import EVENTS_SCHEMA, event_columns
from harvest.model.frames import types_of

from .plugin import FINDINGS, NOTES

if TYPE_CHECKING:
    from harvest.dataset import Dataset


def findings(dataset: Dataset) -> pl.LazyFrame:
    """Return one row per finding; ``settings`` of its view are a JSON object."""
    rows = [found.to_dict() for found in dataset.findings().found]
    for row in rows:
        row["settings"] = orjson.dumps(row["settings"]).decode()
    return pl.LazyFrame(rows, schema=types_of(FINDINGS))


def events(dataset: Dataset) -> pl.LazyFrame:
    """Return all rows of the dataset as events, type by type, each in the dataset's order."""
    frames = [dataset[name].select(event_columns(dataset.record_type(name))) for name in dataset]
    if not frames:
        empty: pl.DataFrame = pl.from_arrow(EVENTS_SCHEMA.empty_table())  # type: ignore[assignment]
        return empty.lazy()
    return pl.concat(frames)


def notes(dataset: Dataset) -> pl.LazyFrame:
    """Return one row per note, in the dataset's order."""
    noted = dataset.manifest.parts.with_notes()
    rows = [(note, part.origin, part.source) for part in noted for note in part.notes]
    return pl.LazyFrame(rows, schema=types_of(NOTES), orient="row")
