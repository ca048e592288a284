"""Finding plugins and asking them what they offer: ``manager()`` has those of this process."""

from __future__ import annotations

from harvest.api.spec import API_VERSION, OLDEST_API_VERSION

from .registry import PluginManager, manager, plugins_of

__all__ = ["API_VERSION", "OLDEST_API_VERSION", "PluginManager", "manager", "plugins_of"]
