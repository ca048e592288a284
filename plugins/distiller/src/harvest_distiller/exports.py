"""Distiller's CSV exports, ``id,slurm_id,elapsed``, a file per scan size: how to recognise one."""

from __future__ import annotations

import re
from pathlib import Path

from harvest_toolkit.csv_header import column_names, header_line

NEEDED = ("id", "slurm_id", "elapsed")
_SIZE = re.compile(r"(?<![0-9.])(\d{1,6})[_x](\d{1,6})(?![0-9])")


def recognise(path: Path) -> list[str] | None:
    """The columns of an export, by its header; None where the file is another."""
    names = column_names(header_line(path))
    if not set(NEEDED) <= set(names) or len(set(names)) != len(names):
        return None
    return None if {"", "line", "extra", "scan_id", "reason"} & set(names) else names


def size_of_name(path: Path) -> str | None:
    """The scan size in a file name: ``128_128.csv`` and ``jobs-128x128.csv`` give 128x128."""
    found = _SIZE.search(path.name)
    return f"{int(found[1])}x{int(found[2])}" if found else None
