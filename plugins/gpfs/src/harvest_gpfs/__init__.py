"""GPFS (IBM Storage Scale) policy lists: every file of a file system, one line each."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .aggregation import aggregate, write_result
    from .comparing import churn
    from .converting import convert, write_hive
    from .splitting import split

__all__ = ["aggregate", "churn", "convert", "split", "write_hive", "write_result"]

_HOMES = {
    "aggregate": "aggregation",
    "churn": "comparing",
    "convert": "converting",
    "split": "splitting",
    "write_hive": "converting",
    "write_result": "aggregation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # import on first use: until then, the plugin's declarations stay cheap to load
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
