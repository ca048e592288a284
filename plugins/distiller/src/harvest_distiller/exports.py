"""Distiller's CSV exports, ``id,slurm_id,elapsed``, a file per scan size: how to recognise one.

Merged with sacct's rows, as pandas does it, ``slurm_id`` is called ``Job ID``, and ``size`` says
what the file's name does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from harvest_toolkit.csv_header import column_names, header_line

MERGED = "Job ID"
"""What ``slurm_id`` is called in a table merged with sacct's rows."""

_SIZE = re.compile(r"(?<![0-9.])(\d{1,6})[_x](\d{1,6})(?![0-9])")


def recognise(path: Path) -> list[str] | None:
    """The columns of an export, by its header; None where the file is another.

    A nameless first one, the index that pandas writes, is called ``index``.
    """
    names = column_names(header_line(path))
    if names[:1] == [""]:
        names[0] = "index"
    needed = {"id", "elapsed", slurm_column(names)}
    if not needed <= set(names) or len(set(names)) != len(names):
        return None
    return None if {"", "line", "extra", "scan_id", "reason"} & set(names) else names


def slurm_column(names: Sequence[str]) -> str:
    """The column with the id of the Slurm job."""
    return "slurm_id" if "slurm_id" in names or MERGED not in names else MERGED


def size_of_name(path: Path) -> str | None:
    """The scan size in a file name: ``128_128.csv`` and ``jobs-128x128.csv`` give 128x128."""
    found = _SIZE.search(path.name)
    return f"{int(found[1])}x{int(found[2])}" if found else None
