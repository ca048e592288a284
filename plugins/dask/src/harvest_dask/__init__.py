"""Live capture of any Dask cluster into crash-safe files that ``harvest`` reads.

Use ``with capture(client, "runs/R1"):`` in a script, ``harvest dask capture`` for a running cluster
and ``--preload harvest_dask`` for a new one. This package never imports harvest, and imports Dask
only when needed: harvest imports this package to list its commands.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import capture
    from .preload import dask_setup
    from .settings import CaptureError, darshan_environment

__all__ = ["CaptureError", "capture", "darshan_environment", "dask_setup"]

_HOMES = {"capture": ".client", "dask_setup": ".preload"}


def __getattr__(name: str) -> Any:
    """Import a name's module when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES.get(name, ".settings"), __name__), name)
