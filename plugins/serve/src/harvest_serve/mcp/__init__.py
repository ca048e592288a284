"""The Model Context Protocol, by which language-model clients query datasets."""

import importlib.util

from harvest_serve.problems import NotFound


def check_installed(where: str | None = None) -> None:
    """Raise NotFound where the package of the protocol is not installed."""
    if importlib.util.find_spec("mcp") is None:
        raise NotFound(
            "the Model Context Protocol needs the package mcp, which is not installed",
            where=where,
            remedy="pip install 'hpc-harvest-serve[mcp]'",
        )
