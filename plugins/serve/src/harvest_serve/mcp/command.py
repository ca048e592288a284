"""``harvest mcp``."""

from __future__ import annotations

from harvest_serve.command import Datasets


def mcp(datasets: Datasets) -> int:
    """Answer the Model Context Protocol over standard input and output; only read.

    A client starts it, asks by its tools, and ends it by closing its input:
    tables with their meaning, rows, SQL, findings with evidence, reports. Needs the extra mcp.

    Example: harvest mcp out
    """
    from .stdio import serve_mcp  # late: help needs no server

    return serve_mcp(datasets)
