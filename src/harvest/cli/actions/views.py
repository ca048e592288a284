"""``harvest view`` without a name: the views there are."""

from __future__ import annotations

from harvest.cli.tables import print_declared
from harvest.plugins.registry import manager

__all__ = ["list_views"]


def list_views(*, json: bool) -> int:
    """Print the views of all plugins."""
    print_declared("view", list(manager().views.values()), json=json)
    return 0
