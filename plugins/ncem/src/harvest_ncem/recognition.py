"""Recognition of the experiment's files by name, and of CSV tables of times by header.

Receiver table: ``scan_number,time0,time1,...[,time_last_written]``.
File table: ``distiller_id,scan_number,datetime``.

Other columns of a table go to ``extra``. A table without a header is recognised by its lines, if
their columns are in one of the orders used by NCEM's four receivers or by the scripts that
collected their times.
"""

import re
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

import attrs

from harvest_toolkit.csv_header import column_names, header_line
from harvest_toolkit.headless import Fit, Order, fitting

Kind: TypeAlias = Literal["status", "data", "h5", "log"]

_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[0-9a-fA-F]{32}"
_FORMS: Final = {
    # include copies that people keep next to the live file (..._scan_12_old.json)
    "status": r"4dstem_rec_status_(?P<receiver>#)_scan_(?P<scan_number>#)(?:[^0-9].*)?\.json",
    "data": r"data_scan(?P<scan_number>#)_module(?P<module>#|)(?!\d).*\.data",
    "log": r"log_scan_?(?P<scan_number>#)(?:[^0-9].*)?",
    "h5": r"FOURD_(?P<stamp>\d{6}_\d{4})_(?P<distiller_id>#)_(?P<scan_number>#)"
    rf"(?:_(?P<uuid>{_UUID}))?(?:_(?P<suffix>.+))?\.h5",
}
_PATTERNS: Final = [
    (cast("Kind", kind), re.compile(form.replace("#", r"\d{1,18}")))
    for kind, form in _FORMS.items()
]
_TEXTS: Final = ("uuid", "suffix", "stamp")

LOOK_BYTES = 200
"""Bytes per file for the progress of a run: about the size of a status; others are not read."""


@attrs.frozen(kw_only=True)
class FileName:
    """The parts of a recognised file name; None for parts that the name lacks."""

    kind: Kind
    scan_number: int
    receiver: int | None = None
    distiller_id: int | None = None
    module: int | None = None
    uuid: str | None = None
    suffix: str | None = None
    stamp: str | None = None


def parse_name(name: str) -> FileName | None:
    """Parse a file name; None if it does not belong to the experiment.

    Forms: ``4dstem_rec_status_<receiver>_scan_<scan>.json``, ``data_scan<scan>_module*.data``,
        ``log_scan<scan>*`` and ``FOURD_<YYMMDD>_<HHMM>_<distiller>_<scan>[_<uuid>][_<suffix>].h5``.
    """
    for kind, pattern in _PATTERNS:
        if found := pattern.fullmatch(name):
            parts: dict[str, Any] = {
                key: text if key in _TEXTS else int(text)
                for key, text in found.groupdict().items()
                if text
            }
            return FileName(kind=kind, **parts)
    return None


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
