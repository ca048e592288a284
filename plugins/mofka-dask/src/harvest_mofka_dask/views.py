"""Views of Dask runs: their tasks, their workers, each run at a glance.

All are lazy polars frames over a dataset's rows; they need no record type but take what there is.
"""

from __future__ import annotations

from .views_summary import run_summary
from .views_tasks import tasks
from .views_workers import workers

__all__ = ["run_summary", "tasks", "workers"]
