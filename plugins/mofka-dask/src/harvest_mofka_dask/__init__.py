"""harvest plugin for Dask runs recorded through Mofka.

From Python, ``TaskHandler`` gives tasks as objects; it is imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tasks import TaskHandler

__all__ = ["TaskHandler"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .tasks import TaskHandler  # late: harvest imports this package to know its plugin

    return TaskHandler
