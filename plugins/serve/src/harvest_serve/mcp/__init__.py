"""The Model Context Protocol, by which language-model clients query datasets."""

from __future__ import annotations

from typing import Final

MISSING: Final = "the Model Context Protocol needs the package mcp, which is not installed"
REMEDY: Final = "pip install 'hpc-harvest-serve[mcp]'"
