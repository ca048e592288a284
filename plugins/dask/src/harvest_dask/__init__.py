"""Live capture of any Dask cluster into crash-safe files that ``harvest`` reads.

``with capture(client, "runs/R1"):`` in a script, ``harvest dask capture`` for a cluster that runs,
``--preload harvest_dask`` for one that starts.  Nothing of harvest itself is imported here, and
nothing of Dask before it is used: harvest imports this package to know its commands.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import capture
    from .preload import dask_setup
    from .settings import CaptureError, darshan_environment

__all__ = ["CaptureError", "capture", "darshan_environment", "dask_setup"]

_HOMES = {
    "CaptureError": ".settings",
    "capture": ".client",
    "darshan_environment": ".settings",
    "dask_setup": ".preload",
}


def __getattr__(name: str) -> Any:
    """Import a name's module when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name], __name__), name)
