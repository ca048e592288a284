"""Read the header of a CSV file, by which a source detects it; with few imports, to be fast::

if {"id", "elapsed"} <= set(column_names(header_line(path))):
    return Detection(0.9, "the header of an export")
"""

import csv
from pathlib import Path
from typing import Final

from .lines import BOM

__all__ = ["HEADER_BYTES", "column_names", "header_line"]

HEADER_BYTES: Final = 64 * 1024
"""Bytes of the longest header."""


def header_line(path: Path) -> bytes:
    """Return the first line of a file, without its line end; at most 64 KiB of it."""
    with path.open("rb") as file:
        return file.readline(HEADER_BYTES).rstrip(b"\r\n")


def column_names(line: bytes) -> list[str]:
    """Return the column names in a header, without blanks around them; none of invalid CSV."""
    try:
        row = next(csv.reader([line.removeprefix(BOM).decode()], strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        return []
    return [name.strip() for name in row]
