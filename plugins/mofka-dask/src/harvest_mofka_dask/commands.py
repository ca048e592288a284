"""The commands ``harvest mofka-dask ...``."""

from __future__ import annotations

from .capture import app
from .trace_command import trace

__all__ = ["app"]

app.command()(trace)
