"""Views of I/O: files, processes, jobs, bytes over time.

Each is declared with its columns in ``file_views`` or ``job_views``, and computed in a module of
its name: a lazy frame over a dataset's rows.
"""

from __future__ import annotations

from typing import Final

from harvest import View

from .file_views import FILES, PROCESSES, TIMELINE
from .job_views import JOBS, POSIX_FILES, RANKS, REQUESTS

__all__ = ["VIEWS"]

VIEWS: Final[tuple[View, ...]] = (
    *(FILES, PROCESSES, TIMELINE),
    *(JOBS, REQUESTS, POSIX_FILES, RANKS),
)
