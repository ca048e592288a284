"""The exporter ``delta``: record types and views as tables of Delta Lake."""

from __future__ import annotations

from typing import Any

from harvest import Dataset


def write(dataset: Dataset, target: str, **settings: Any) -> str:
    """As ``export.write``, which needs the extra ``delta``."""
    from .export import write as export

    return export(dataset, target, **settings)
