"""Views of I/O: files, and bytes over time.  Lazy polars frames over a dataset's rows."""

from __future__ import annotations

from .views_files import files
from .views_timeline import timeline

__all__ = ["files", "timeline"]
