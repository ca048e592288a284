"""harvest plugin for Dask runs recorded through Mofka.

The names below are for use from Python; each is imported when first used.  They are those of
``harvest_dask_runs``, but TaskHandler also reads the files of runs.
"""

import importlib
from typing import TYPE_CHECKING, Any

from harvest_dask_runs import __all__ as __all__

if TYPE_CHECKING:
    from harvest_dask_runs import *  # noqa: F403

    from .tasks import TaskHandler as TaskHandler


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = ".tasks" if name == "TaskHandler" else "harvest_dask_runs"
    return getattr(importlib.import_module(home, __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
