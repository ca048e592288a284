"""Reading of a run's CSVs, or of its whole directory, into memory: for small runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harvest import Collected, SourceError, UsageError, collect, collect_partition, file_partition
from harvest.errors import suggestion
from harvest_dask_runs.memory import Harvested
from harvest_toolkit.csv_header import header_line

from .read.layout import CSV_KINDS, csv_kind_of_header, parse_header
from .source import MofkaDaskSource

KINDS: Final = {
    "scheduler": "scheduler_transition",
    "workers": "worker",
    "transitions": "worker_transition",
    "transfers": "worker_transfer",
    "graph": "graph",
}
"""Roles of the CSVs of one run, each with the source's kind of CSV."""


def harvest_directory(path: Path) -> Harvested:
    """Read everything in or below a run directory.

    Raises SourceError if there is nothing to read.
    """
    return Harvested.of([collect(MofkaDaskSource(str(path)))])


def harvest_files(files: Mapping[str, str | os.PathLike[str]]) -> Harvested:
    """Read the CSVs of one run, with any names, by their roles in KINDS.

    Raises UsageError for an unknown role. Raises SourceError if no file is named, or if one is
    missing or lacks the columns of its role.
    """
    for role in files.keys() - KINDS.keys():
        raise UsageError(f"no CSV has the role {role!r}", remedy=suggestion(role, KINDS))
    paths = {KINDS[role]: Path(path).absolute() for role, path in files.items()}
    if not paths:
        raise SourceError("no file is named", remedy="name at least one CSV")
    collected: list[Collected] = []
    empty: list[str] = []
    for kind, path in paths.items():
        if not path.is_file():
            raise SourceError("no such file", where=str(path), remedy="check the path")
        if _is_empty(path):
            empty.append(f"{path} holds no rows")
            continue
        _check_columns(path, kind)
        partition = file_partition(path, id=path.name, options={"kind": kind})
        collected.append(collect_partition(MofkaDaskSource(str(path)), partition))
    label = os.path.commonpath([path.parent for path in paths.values()])
    return Harvested.of(collected, label, empty)


def _is_empty(path: Path) -> bool:
    """Return whether a CSV has no columns, as pandas writes a table without rows."""
    return header_line(path) in (b"", b'""') and path.stat().st_size <= len(b'""\r\n')


def _check_columns(path: Path, kind: str) -> None:
    columns = parse_header(header_line(path))
    missing = [name for name in CSV_KINDS[kind].required if name not in columns]
    if missing:
        actual = csv_kind_of_header(columns)
        raise SourceError(
            f"is not a {kind} table: it lacks the column {missing[0]!r}",
            where=str(path),
            remedy=f"its columns are those of {actual}.csv" if actual else "name another file",
        )
