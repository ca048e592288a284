"""The views of Dask runs.

``declared`` has their names, settings and columns; each names the function that computes it.
Nothing large is imported before a view is computed.
"""

from typing import Final

from harvest import View

from .declared.indicators import INDICATORS
from .declared.io import COVERAGE, TASK_IO, TRACE, WORKERS_PROCESSES
from .declared.runs import RUN_SUMMARY, WORKERS
from .declared.tasks import CRITICAL_PATH, PREFIXES, TASKS

VIEWS: Final[tuple[View, ...]] = (
    *(TASKS, WORKERS, PREFIXES, INDICATORS, RUN_SUMMARY),
    *(TASK_IO, COVERAGE, WORKERS_PROCESSES, TRACE, CRITICAL_PATH),
)
