"""Recognition of the CSV tables of the experiment's timestamps by their headers.

Receiver table: ``scan_number,time0,time1,...[,time_last_written]``.
File table: ``distiller_id,scan_number,datetime``.

Other columns of a table go to ``extra``. A table without a header is recognised by its lines, if
their columns are in one of the orders used by NCEM's four receivers or by the scripts that
collected their times.
"""

import re
from pathlib import Path

import attrs

from harvest_toolkit.csv_header import column_names, header_line
from harvest_toolkit.headless import Fit, Order, fitting

_TIME = re.compile(r"time(\d{1,3})")
LAST_WRITTEN = "time_last_written"

_NUMBER = r"\d{1,18}"
MOMENT = (
    r"^\s*(?P<date>\d{4}-\d{2}-\d{2})[T ](?P<clock>\d{2}:[0-5]\d:[0-5]\d)"
    r"(?:[.,](?P<fraction>\d{1,9}))?"
    r"\s?(?P<offset>Z|[+-]\d{2}:?[0-5]\d)?(?P<second>Z|[+-]\d{2}:?[0-5]\d)?\s*$"
)
"""Pattern of a time: date, time of day, fraction, zone offset, and repeated zone offset."""
_CELL = rf"{MOMENT}|(?i:null|nan|nat|)"
_RECEIVERS = tuple(f"time{number}" for number in range(4))
_RECEIVER_TABLE = {"scan_number": _NUMBER, **dict.fromkeys(_RECEIVERS, _CELL)}
ORDERS = (
    Order(_RECEIVER_TABLE, _RECEIVERS),
    Order({**_RECEIVER_TABLE, LAST_WRITTEN: _CELL}, _RECEIVERS),
    Order(
        {"distiller_id": rf"{_NUMBER}|", "scan_number": _NUMBER, "datetime": _CELL},
        ("datetime",),
    ),
)
"""Known orders of columns in tables without a header."""


@attrs.frozen
class Table:
    """A recognised table.

    columns: names in order.  receivers: receiver numbers by column, empty for a file table.
    order: the known order that its lines match, if it has no header.
    """

    columns: list[str]
    receivers: dict[str, int]
    order: Fit | None = None

    @property
    def extra(self) -> list[str]:
        """Columns that no record type declares."""
        more = [LAST_WRITTEN] if self.receivers else ["distiller_id", "datetime"]
        known = {"scan_number", *self.receivers, *more}
        return [name for name in self.columns if name not in known]


def recognise(path: Path) -> Table | None:
    """Recognise the table in a file by its header or the order of its columns; None if unknown."""
    if table := _table(column_names(header_line(path))):
        return table
    order = fitting(path, ORDERS)
    table = _table(order.names) if order else None
    return attrs.evolve(table, order=order) if table else None


def _table(columns: list[str]) -> Table | None:
    if "scan_number" not in columns or len(set(columns)) != len(columns):
        return None
    # the experiment's tables have no such columns, and the reader uses both names itself
    if "line" in columns or "" in columns:
        return None
    receivers = {name: int(m[1]) for name in columns if (m := _TIME.fullmatch(name))}
    if receivers or {"distiller_id", "datetime"} <= set(columns):
        return Table(columns, receivers)
    return None
