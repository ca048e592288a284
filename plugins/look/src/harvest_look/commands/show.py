"""``harvest show``."""

from __future__ import annotations

from harvest.commands.options import DatasetPath, Json

__all__ = ["show"]


def show(dataset: DatasetPath, json: Json = False) -> int:
    """Say what a dataset holds, and which views and reports it can serve."""
    from harvest_look.show import show_dataset  # late: help needs none of it

    return show_dataset(dataset, json=json)
