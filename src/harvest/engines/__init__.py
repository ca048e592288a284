"""The core's engine, and building blocks for engines with workers on a machine.

``read_bundles`` reads on this machine, as the engine ``local`` does, with ``available_cores``.
``interpreter`` is the command of a worker process with the import paths of this process, ``ending``
says how a process ended. ``Progress`` is the report of bundles, ``Terms`` are the requirements for
workers elsewhere, ``Awaited`` finds results that jobs stage.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harvest.reading.awaited import Awaited as Awaited
    from harvest.reading.task import Progress as Progress
    from harvest.reading.terms import Terms as Terms

    from .local import read_bundles as read_bundles
    from .pool import available_cores as available_cores
    from .pool import ending as ending
    from .pool import interpreter as interpreter

_HOMES = {
    "Awaited": "harvest.reading.awaited",
    "Progress": "harvest.reading.task",
    "Terms": "harvest.reading.terms",
    "available_cores": ".pool",
    "ending": ".pool",
    "interpreter": ".pool",
    "read_bundles": ".local",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'harvest.engines' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name], __name__), name)
