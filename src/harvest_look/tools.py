"""What commands that ask a dataset work with: imported when one is called, not for its help."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Final

from rich.console import Console

from harvest import Dataset
from harvest.commands.asking import answer
from harvest.commands.progress import working
from harvest.commands.tables import how_many, print_json
from harvest_report.records import Style, print_records, print_rows_as_json

from .asked import named
from .choice import Choice
from .files import export
from .where import refused_values

__all__ = [
    "Choice",
    "Console",
    "Style",
    "answer",
    "export",
    "how_many",
    "named",
    "print_json",
    "print_records",
    "print_rows_as_json",
    "refused_values",
    "remarks",
    "working",
]

GROUP: Final = "harvest_look.query_remarks"
"""The entry-point group: a name is a record type, and stands for a function that takes the dataset
and the query, and gives sentences; it is called where the query names the record type."""


def remarks(dataset: Dataset, sql: str) -> Iterator[str]:
    """What plugins remark on a query: what its rows put together, such as scans of two days."""
    plain = sql.replace('"', "").lower()
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        if point.name in dataset and re.search(rf"\b{re.escape(point.name)}\b", plain):
            yield from point.load()(dataset, sql)
