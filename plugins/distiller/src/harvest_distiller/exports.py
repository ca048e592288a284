"""Recognise Distiller's CSV exports: columns ``id,slurm_id,elapsed``, one file per scan size.

If pandas merged an export with sacct's rows, ``slurm_id`` is called ``Job ID``, and ``size`` has
the scan size that the file's name lacks. Lines identify an export without a header.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import attrs

from harvest_toolkit.csv_header import column_names, header_line
from harvest_toolkit.headless import Fit, Order, fitting

MERGED = "Job ID"
"""Name of the column ``slurm_id`` in a table merged with sacct's rows."""

_BLANK = r"(?i:null|none|nan|nat|\\n|)"
ID = r"(\d{1,18})(?:\.0*)?"
"""Pattern of an id; in a column with blanks, pandas writes ids as 58250603.0."""
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
"""Column orders of exports without a header; the second begins with the index of pandas."""

_SIZE = re.compile(r"(?<![0-9.])(\d{1,6})[_x](\d{1,6})(?![0-9])")


@attrs.frozen
class Export:
    """A recognised export.

    columns: names, in order. order: the known order that its lines fit; None with a header.
    """

    columns: list[str]
    order: Fit | None = None


def recognise(path: Path) -> Export | None:
    """Recognise an export by its header or the order of its columns; None for another file.

    A first column without a name, which is the index of pandas, is called ``index``.
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
    """Return the name of the column with the id of the Slurm job."""
    return "slurm_id" if "slurm_id" in names or MERGED not in names else MERGED


def size_of_name(path: Path) -> str | None:
    """Return the scan size in a file name: 128x128 for ``128_128.csv`` or ``jobs-128x128.csv``."""
    found = _SIZE.search(path.name)
    return f"{int(found[1])}x{int(found[2])}" if found else None
