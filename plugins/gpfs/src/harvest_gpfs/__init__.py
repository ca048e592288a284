"""GPFS (IBM Storage Scale) policy lists: every file of a file system, one line each."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .aggregation import aggregate, write_result
    from .comparing import churn
    from .converting import convert, write_hive
    from .splitting import split

__all__ = ["aggregate", "churn", "convert", "split", "write_hive", "write_result"]

_HOMES = {
    "aggregation": ("aggregate", "write_result"),
    "comparing": ("churn",),
    "converting": ("convert", "write_hive"),
    "splitting": ("split",),
}


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # import on first use: until then, the plugin's declarations stay cheap to load
    return getattr(import_module(f".{home}", __name__), name)
