"""Remarks of plugins on a query: what its rows put together, such as scans of two days."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Final

from harvest import Dataset

__all__ = ["GROUP", "remarks"]

GROUP: Final = "harvest_look.query_remarks"
"""The entry-point group: a name is a record type, and stands for a function that takes the dataset
and the query, and gives sentences; it is called where the query names the record type."""


def remarks(dataset: Dataset, sql: str) -> Iterator[str]:
    """What plugins remark on a query over a dataset."""
    plain = sql.replace('"', "").lower()
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        if point.name in dataset and re.search(rf"\b{re.escape(point.name)}\b", plain):
            yield from point.load()(dataset, sql)
