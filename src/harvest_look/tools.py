"""Helpers of commands that query a dataset; imported when one is called, not for its help."""

import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Final

from rich.console import Console as Console

from harvest import Dataset
from harvest.commands.asking import answer as answer
from harvest.commands.progress import working as working
from harvest.commands.tables import how_many as how_many
from harvest.commands.tables import print_json as print_json
from harvest_report.records import Style as Style
from harvest_report.records import print_records as print_records
from harvest_report.records import print_rows_as_json as print_rows_as_json

from .asked import named as named
from .choice import Choice as Choice
from .files import export as export
from .where import refused_values as refused_values

GROUP: Final = "harvest_look.query_remarks"
"""The entry-point group of remarks on queries, whose names are record types.

Each function takes a dataset and a query that names the record type, and returns sentences."""


def remarks(dataset: Dataset, sql: str) -> Iterator[str]:
    """Yield the plugins' remarks on a query, for example that it combines scans of two days."""
    plain = sql.replace('"', "").lower()
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        if point.name in dataset and re.search(rf"\b{re.escape(point.name)}\b", plain):
            yield from point.load()(dataset, sql)
