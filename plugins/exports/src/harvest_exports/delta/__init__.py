"""The exporter ``delta``: record types and views as tables of Delta Lake."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from harvest import Dataset, UsageError

__all__ = ["write"]


def write(dataset: Dataset, target: str, **settings: Any) -> str:
    """Bring the tables to the dataset's state; gives what was done in words.

    Raises UsageError where the extra ``delta`` is missing, and as ``delta.export.write``.
    """
    if find_spec("deltalake") is None:
        raise UsageError(
            "tables of Delta Lake are written by deltalake, which is not installed",
            remedy="pip install 'hpc-harvest-exports[delta]'",
        )
    from .export import write as export  # an optional library

    return export(dataset, target, **settings)
