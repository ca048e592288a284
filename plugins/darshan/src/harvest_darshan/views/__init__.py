"""Views of I/O: files, processes, jobs, bytes over time.  Lazy frames over a dataset's rows.

``harvest_darshan.columns`` has what their columns mean.
"""

from __future__ import annotations

from .files import files
from .jobs import jobs
from .posix_files import posix_files
from .processes import processes
from .ranks import ranks
from .requests import requests
from .timeline import timeline

__all__ = ["files", "jobs", "posix_files", "processes", "ranks", "requests", "timeline"]
