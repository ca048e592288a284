"""Views of Dask runs: their tasks, their workers, their I/O, each run at a glance.

All are lazy polars frames over a dataset's rows; they need no record type but take what there is.
"""

from __future__ import annotations

from .views_io import task_io, task_io_coverage, workers_processes
from .views_summary import run_summary
from .views_tasks import tasks
from .views_workers import workers

__all__ = ["run_summary", "task_io", "task_io_coverage", "tasks", "workers", "workers_processes"]
