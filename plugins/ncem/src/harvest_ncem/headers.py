"""The CSV tables of the experiment's timestamps, recognised by their headers.

Receiver table: ``scan_number,time0,time1,...[,time_last_written]``.
File table: ``distiller_id,scan_number,datetime``.

Columns that a table has beside these go to ``extra``.
"""

from __future__ import annotations

import re
from pathlib import Path

import attrs

from harvest_toolkit.csv_header import column_names, header_line

_TIME = re.compile(r"time(\d{1,3})")
LAST_WRITTEN = "time_last_written"


@attrs.frozen
class Table:
    """A recognised table.

    columns: of its header, in order.  receivers: column -> number, empty for a file table.
    """

    columns: list[str]
    receivers: dict[str, int]

    @property
    def extra(self) -> list[str]:
        """Columns that no record declares."""
        known = {"scan_number", "distiller_id", "datetime", LAST_WRITTEN, *self.receivers}
        if self.receivers:
            known -= {"distiller_id", "datetime"}
        else:
            known.discard(LAST_WRITTEN)
        return [name for name in self.columns if name not in known]


def recognise(path: Path) -> Table | None:
    """The table in a file, by its header; None where it is another."""
    columns = column_names(header_line(path))
    if "scan_number" not in columns or len(set(columns)) != len(columns):
        return None
    # a table of these tools has neither, and both are names of our own while it is read
    if "line" in columns or "" in columns:
        return None
    receivers = {name: int(m[1]) for name in columns if (m := _TIME.fullmatch(name))}
    if receivers or {"distiller_id", "datetime"} <= set(columns):
        return Table(columns, receivers)
    return None
