"""Remark on queries that mix several scans."""

import re
from collections.abc import Iterator

from harvest import DatasetReader

from ..aggregation.listing import list_scans
from ..views.common import rows_of


def several_scans(dataset: DatasetReader, sql: str) -> Iterator[str]:
    """Warn that a query over ``gpfs.file`` counts the files of every scan.

    A query that contains ``scan_time`` or ``origin`` selects its scan itself.
    """
    if re.search(r"\b(scan_time|origin)\b", sql, re.IGNORECASE):
        return
    scans = list_scans(rows_of(dataset))
    if len(scans) > 1:
        last = scans[-1]
        column = "scan_time" if last.time is not None else "origin"
        name = last.label.replace("'", "''")
        yield (
            f"gpfs.file has {len(scans)} scans, and this query counts rows of all of them; for the "
            f"last scan only, add: where {column} = '{name}'"
        )
