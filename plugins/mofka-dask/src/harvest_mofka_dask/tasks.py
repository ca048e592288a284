"""Tasks as objects, from the files of a run.

from harvest_mofka_dask import TaskHandler

tasks = TaskHandler.from_directory("runs/D2024-05-06_07:08:09_R1_W4")
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

import harvest_dask_runs

from .memory import KINDS, harvest_directory, harvest_files


class TaskHandler(harvest_dask_runs.TaskHandler):
    """The tasks of one or more runs, also read from the files of a run."""

    @classmethod
    def from_directory(cls, path: str | os.PathLike[str]) -> Self:
        """Load the tasks of a run directory, or of all runs below a directory.

        Everything is read into memory; for large runs harvest into a dataset and use
        ``from_dataset``.  Input that cannot be read is in ``rejects``, with a warning.  Raises
        SourceError if there is nothing to read.
        """
        return cls.from_harvested(harvest_directory(Path(path)))

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
