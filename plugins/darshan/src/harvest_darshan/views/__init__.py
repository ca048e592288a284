"""Views of I/O: files, processes, jobs, bytes over time.

``declared`` holds their declarations, each with the name of the function that builds the view.
"""

from typing import Final

from harvest import View

from .declared.files import FILES, PROCESSES, TIMELINE
from .declared.jobs import BANDWIDTH, GAINS, JOBS, POSIX_FILES, RANKS, REQUESTS

VIEWS: Final[tuple[View, ...]] = (
    *(FILES, PROCESSES, TIMELINE),
    *(JOBS, REQUESTS, POSIX_FILES, RANKS),
    *(BANDWIDTH, GAINS),
)
