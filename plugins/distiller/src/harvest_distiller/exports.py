"""Distiller's CSV exports, ``id,slurm_id,elapsed``, a file per scan size: how to recognise one.

Merged with sacct's rows, as pandas does it, ``slurm_id`` is called ``Job ID``, and ``size`` says
what the file's name does not.  An export without a header is known by its lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import attrs

from harvest_toolkit.csv_header import column_names, header_line
from harvest_toolkit.headless import Fit, Order, fitting

MERGED = "Job ID"
"""What ``slurm_id`` is called in a table merged with sacct's rows."""

_BLANK = r"(?i:null|none|nan|nat|\\n|)"
ID = r"(\d{1,18})(?:\.0*)?"
"""A number; pandas writes those in a column with blanks as 58250603.0."""
_EXPORT = {
    "id": ID,
    "slurm_id": rf"{ID}|{_BLANK}",
    "elapsed": r"(?:\d{1,6}(?:\s+days?,?\s*|-))?\d{1,7}:\d\d:\d\d(?:\.\d+)?|\d{1,6} days?|"
    + _BLANK,
}
ORDERS = (
    Order(_EXPORT, ("elapsed",)),
    Order({"index": r"\d{1,18}", **_EXPORT}, ("elapsed",)),
)
"""Of exports without a header; the second has the index that pandas writes."""

_SIZE = re.compile(r"(?<![0-9.])(\d{1,6})[_x](\d{1,6})(?![0-9])")


@attrs.frozen
class Export:
    """A recognised export.

    columns: in order.  order: the known one that its lines fit, where it has no header.
    """

    columns: list[str]
    order: Fit | None = None


def recognise(path: Path) -> Export | None:
    """The export in a file, by its header or the order of its columns; None where it is another.

    A nameless first column, the index that pandas writes, is called ``index``.
    """
    names = column_names(header_line(path))
    if names[:1] == [""]:
        names[0] = "index"
    needed = {"id", "elapsed", slurm_column(names)}
    if not needed <= set(names) or len(set(names)) != len(names):
        order = fitting(path, ORDERS)
        return Export(order.names, order) if order else None
    odd = {"", "line", "extra", "scan_id", "reason"} & set(names)
    return None if odd else Export(names)


def slurm_column(names: Sequence[str]) -> str:
    """The column with the id of the Slurm job."""
    return "slurm_id" if "slurm_id" in names or MERGED not in names else MERGED


def size_of_name(path: Path) -> str | None:
    """The scan size in a file name: ``128_128.csv`` and ``jobs-128x128.csv`` give 128x128."""
    found = _SIZE.search(path.name)
    return f"{int(found[1])}x{int(found[2])}" if found else None
