"""A view as a table in a message: selected rows and columns, in a given order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import polars as pl

from harvest import Column, Dataset
from harvest.commands.declared import columns_of
from harvest.model.json import encode_frame
from harvest_report.values import form_of, texts_of
from harvest_toolkit.choices import with_settings

from .config import Config


def table_of(dataset: Dataset, config: Config) -> dict[str, Any]:
    """Build the table of the configured view: its rows as JSON values and as lines of text.

    Raises HarvestError for a view or setting that does not fit, PolarsError for a wrong column.
    """
    assert config.view is not None
    name, settings = with_settings(config.view, "notify.view")
    frame = dataset.view(name, **settings)
    if config.sort is not None:
        by = config.sort.removeprefix("-")
        frame = frame.sort(by, descending=by != config.sort, nulls_last=True, maintain_order=True)
    if config.columns:
        frame = frame.select(config.columns)
    rows = frame.collect()
    first = rows.head(config.limit)
    known = columns_of(dataset.plugins.view(name), dataset.plugins)
    return {
        "view": config.view,
        "total": rows.height,
        "rows": [orjson.loads(row) for row in encode_frame(first)],
        "lines": _lines(first, known),
    }


def _lines(frame: pl.DataFrame, known: Mapping[str, Column]) -> list[str]:
    """Format the rows below their headings, with numbers right-aligned."""
    columns = []
    for values in frame:
        column = known.get(values.name) or Column(values.name)
        form, unit = form_of(column, values.dtype)
        head = f"{values.name} [{unit}]" if unit else values.name
        texts = [head, *texts_of(values.to_list(), form, scale=column.scale)]
        width = max(map(len, texts))
        is_number = values.dtype.is_numeric()
        columns.append([t.rjust(width) if is_number else t.ljust(width) for t in texts])
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
