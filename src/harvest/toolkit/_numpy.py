"""numpy, for the modules that need it; without it they name the extra that brings it."""

from __future__ import annotations

try:
    import numpy as np
except ModuleNotFoundError as missing:
    raise ImportError(
        "the numeric modules of harvest.toolkit need numpy; depend on hpc-harvest[toolkit]"
    ) from missing

__all__ = ["np"]
