"""The views of Dask runs.

``declared`` has what each gives; the function that makes it is in a file of its own, as the view
says.  Nothing heavy is imported before a view is made.
"""

from __future__ import annotations

from typing import Final

from harvest import View

from .declared.indicators import INDICATORS
from .declared.io import COVERAGE, TASK_IO, TRACE, WORKERS_PROCESSES
from .declared.runs import RUN_SUMMARY, WORKERS
from .declared.tasks import CRITICAL_PATH, PREFIXES, TASKS

__all__ = ["VIEWS"]

VIEWS: Final[tuple[View, ...]] = (
    *(TASKS, WORKERS, PREFIXES, INDICATORS, RUN_SUMMARY),
    *(TASK_IO, COVERAGE, WORKERS_PROCESSES, TRACE, CRITICAL_PATH),
)
