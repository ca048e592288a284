"""Tasks as objects, from the files of a run.

from harvest_mofka_dask import TaskHandler

tasks = TaskHandler.from_directory("runs/D2024-05-06_07:08:09_R1_W4")
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

import harvest_dask_runs
from harvest import Collected, SourceError, collect, collect_partition, file_partition
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


class TaskHandler(harvest_dask_runs.TaskHandler):
    """The tasks of one or more runs, also read from the files of a run."""

    @classmethod
    def from_directory(cls, path: str | os.PathLike[str]) -> Self:
        """Load the tasks of a run directory, or of all runs below a directory.

        Everything is read into memory; for large runs harvest into a dataset and use
        ``from_dataset``.  Input that cannot be read is in ``rejects``, with a warning.  Raises
        SourceError if there is nothing to read.
        """
        return cls.from_harvested(Harvested.of([collect(MofkaDaskSource(str(Path(path))))]))

    @classmethod
    def from_files(
        cls,
        scheduler: str | os.PathLike[str] | None = None,
        workers: str | os.PathLike[str] | None = None,
        transitions: str | os.PathLike[str] | None = None,
        transfers: str | os.PathLike[str] | None = None,
        graph: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Load the tasks in CSVs of one run; the files may have any names.

        scheduler, transitions, transfers, graph: CSVs with the columns of
        scheduler_transition.csv, worker_transition.csv, worker_transfer.csv and graph.csv.
        workers: one with the columns of worker.csv; it adds no task.

        Input that cannot be read is in ``rejects``, with a warning.  Raises SourceError if a file
        is missing or lacks columns.
        """
        given = zip(KINDS, (scheduler, workers, transitions, transfers, graph), strict=True)
        files = {role: path for role, path in given if path is not None}
        return cls.from_harvested(harvest_files(files))


def harvest_files(files: Mapping[str, str | os.PathLike[str]]) -> Harvested:
    """Read the CSVs of one run, with any names, by their roles in KINDS.

    Raises SourceError if no file is named, or if one is missing or lacks the columns of its role.
    """
    paths = {KINDS[role]: Path(path).absolute() for role, path in files.items()}
    if not paths:
        raise SourceError("no file is named", remedy="name at least one CSV")
    collected: list[Collected] = []
    empty: list[str] = []
    for kind, path in paths.items():
        if not path.is_file():
            raise SourceError("no such file", where=str(path), remedy="check the path")
        # no columns: so pandas writes a table without rows
        if header_line(path) in (b"", b'""') and path.stat().st_size <= len(b'""\r\n'):
            empty.append(f"{path} holds no rows")
            continue
        _check_columns(path, kind)
        partition = file_partition(path, id=path.name, options={"kind": kind})
        collected.append(collect_partition(MofkaDaskSource(str(path)), partition))
    label = os.path.commonpath([path.parent for path in paths.values()])
    return Harvested.of(collected, label, empty)


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
