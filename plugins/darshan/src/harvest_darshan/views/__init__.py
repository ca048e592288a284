"""Views of I/O: files, processes, jobs, bytes over time.

``declared`` has what each gives; the view says where the function is that makes it, a lazy frame
over a dataset's rows.
"""

from __future__ import annotations

from typing import Final

from harvest import View

from .declared.files import FILES, PROCESSES, TIMELINE
from .declared.jobs import BANDWIDTH, GAINS, JOBS, POSIX_FILES, RANKS, REQUESTS

VIEWS: Final[tuple[View, ...]] = (
    *(FILES, PROCESSES, TIMELINE),
    *(JOBS, REQUESTS, POSIX_FILES, RANKS),
    *(BANDWIDTH, GAINS),
)
