"""Find plugins and look up their declarations; ``manager()`` has the plugins of this process."""

from typing import TYPE_CHECKING, Any

from harvest.api.spec import API_VERSION, OLDEST_API_VERSION

if TYPE_CHECKING:
    from .registry import PluginManager, manager, plugins_of

__all__ = ["API_VERSION", "OLDEST_API_VERSION", "PluginManager", "manager", "plugins_of"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import registry  # late: help needs only the commands of plugins

    return getattr(registry, name)
