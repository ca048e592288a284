"""The CSVs of a run, or its whole directory, read into memory: for runs that fit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import attrs

from harvest import Collected, SourceError, collect, collect_partition, file_partition
from harvest_dask_runs.memory import Harvested
from harvest_toolkit.csv_header import header_line

from .read.layout import CSV_KINDS, csv_kind_of_header, parse_header
from .source import MofkaDaskSource

__all__ = ["KINDS", "RunFiles", "harvest_directory", "harvest_files"]

KINDS: Final = {
    "scheduler": "scheduler_transition",
    "workers": "worker",
    "transitions": "worker_transition",
    "transfers": "worker_transfer",
    "graph": "graph",
}
"""Roles of the CSVs of one run, and the kind that the source reads each as."""


@attrs.frozen
class RunFiles:
    """The CSVs of one run, each by its role and whatever its name; None where there is none."""

    scheduler: Path | None = None
    workers: Path | None = None
    transitions: Path | None = None
    transfers: Path | None = None
    graph: Path | None = None

    def by_kind(self) -> dict[str, Path]:
        """The files that are there, by the kind that the source reads them as."""
        found = {kind: getattr(self, role) for role, kind in KINDS.items()}
        return {kind: Path(path).absolute() for kind, path in found.items() if path is not None}


def harvest_directory(path: Path) -> Harvested:
    """Everything the source reads at a run directory or below.

    Raises SourceError where there is nothing to read.
    """
    return Harvested.of([collect(MofkaDaskSource(str(path)))])


def harvest_files(files: RunFiles) -> Harvested:
    """The CSVs of one run, read by their roles.

    Raises SourceError where one is missing, or has not the columns of its role.
    """
    found = files.by_kind()
    if not found:
        raise SourceError("no file is named", remedy="name one CSV at least")
    collected: list[Collected] = []
    empty: list[str] = []
    for kind, path in found.items():
        if not path.is_file():
            raise SourceError("no such file", where=str(path), remedy="check the path")
        if _is_empty(path):
            empty.append(f"{path} holds no rows")
            continue
        _check_columns(path, kind)
        partition = file_partition(path, id=path.name, options={"kind": kind})
        collected.append(collect_partition(MofkaDaskSource(str(path)), partition))
    label = os.path.commonpath([path.parent for path in found.values()])
    return Harvested.of(collected, label, empty)


def _is_empty(path: Path) -> bool:
    """Whether a CSV holds a table of no columns, as pandas writes one that got no row."""
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
