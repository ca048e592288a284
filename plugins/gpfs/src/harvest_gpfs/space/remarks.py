"""A remark on queries that put several scans together."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harvest import DatasetReader

from ..aggregation.listing import list_scans
from ..views.common import rows_of


def several_scans(dataset: DatasetReader, sql: str) -> Iterator[str]:
    """That a query over ``gpfs.file`` counts files of every scan, where nothing in it says which.

    A query that names ``scan_time`` or ``origin`` is taken to know.
    """
    if re.search(r"\b(scan_time|origin)\b", sql, re.IGNORECASE):
        return
    scans = list_scans(rows_of(dataset))
    if len(scans) > 1:
        last = scans[-1]
        column = "scan_time" if last.time is not None else "origin"
        name = last.label.replace("'", "''")
        yield (
            f"gpfs.file holds {len(scans)} scans, and this query counts the rows of all of them; "
            f"for the last one add: where {column} = '{name}'"
        )
