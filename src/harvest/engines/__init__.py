"""Engines of the kernel, and what others are made of that have workers on a machine.

``read_bundles`` reads on this machine, as the engine ``local`` does, with ``available_cores``.
``interpreter`` is the command of a worker process that imports from where this process does,
``ending`` says how one ended.  ``Progress`` is what bundles report, ``Terms`` what workers
elsewhere are checked for, ``Awaited`` finds what jobs stage.
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
