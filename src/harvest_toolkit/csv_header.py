"""Read the header of a CSV file, by which a source detects it; with few imports, to be fast::

if {"id", "elapsed"} <= set(column_names(header_line(path))):
    return Detection(0.9, "the header of an export")
"""

import csv
import re
from pathlib import Path
from typing import Final

from harvest import SourceError

from .lines import BOM
from .live import unpacked

__all__ = ["HEADER_BYTES", "column_names", "header_line", "is_csv"]

HEADER_BYTES: Final = 64 * 1024
"""Bytes of the longest header."""


def is_csv(name: str) -> bool:
    """Return whether a file name is that of a CSV, plain or compressed (``jobs.csv.gz``)."""
    return re.search(r"\.csv(?:\.(?:gz|bz2|xz))?$", name, re.IGNORECASE) is not None


def header_line(path: Path) -> bytes:
    """Return the first line of a file, without its line end; at most 64 KiB of it.

    The file may be compressed by gzip, bzip2 or xz; nothing is returned where it cannot be
    unpacked.
    """
    try:
        with unpacked(path, str(path)) as file:
            return file.readline(HEADER_BYTES).rstrip(b"\r\n")
    except SourceError:
        return b""


def column_names(line: bytes) -> list[str]:
    """Return the column names in a header, without blanks around them; none of invalid CSV."""
    try:
        row = next(csv.reader([line.removeprefix(BOM).decode()], strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        return []
    return [name.strip() for name in row]
