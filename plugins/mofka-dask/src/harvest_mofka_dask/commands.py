"""The commands ``harvest mofka-dask ...``."""

from __future__ import annotations

from .api.capture import app
from .trace.command import trace

__all__ = ["app"]

app.command()(trace)
