"""Views of I/O: files, processes, bytes over time.  Lazy polars frames over a dataset's rows."""

from __future__ import annotations

from .views_files import files
from .views_processes import processes
from .views_timeline import timeline

__all__ = ["files", "processes", "timeline"]
