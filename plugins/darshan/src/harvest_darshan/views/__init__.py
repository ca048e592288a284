"""Views of I/O: files, processes, bytes over time.  Lazy polars frames over a dataset's rows."""

from __future__ import annotations

from .files import files
from .processes import processes
from .timeline import timeline

__all__ = ["files", "processes", "timeline"]
