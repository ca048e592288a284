"""The Model Context Protocol: how its clients ask datasets."""

from __future__ import annotations

from typing import Final

MISSING: Final = "the Model Context Protocol needs the package mcp, which is not installed"
REMEDY: Final = "pip install 'hpc-harvest-serve[mcp]'"
