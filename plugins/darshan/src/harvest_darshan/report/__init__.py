"""The report ``darshan.io``: the I/O of one job, or of many, on one page."""

from __future__ import annotations

from .page import io_report

__all__ = ["io_report"]
