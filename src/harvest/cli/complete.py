"""What the shell may complete: names of sources, sinks, views, rules and record types."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harvest.plugins.registry import PluginManager

__all__ = ["record_types", "rules", "sinks", "sources", "views"]


def sources(incomplete: str) -> list[tuple[str, str]]:
    """``NAME:`` of every source, with its line of documentation."""
    return [
        (f"{name}:", s.doc) for name, s in _plugins().sources.items() if name.startswith(incomplete)
    ]


def sinks(incomplete: str) -> list[tuple[str, str]]:
    """``NAME:`` of every sink, with its line of documentation."""
    return [
        (f"{name}:", s.doc) for name, s in _plugins().sinks.items() if name.startswith(incomplete)
    ]


def views(incomplete: str) -> list[tuple[str, str]]:
    """Names of views, with what they hold."""
    return [(name, v.doc) for name, v in _plugins().views.items() if name.startswith(incomplete)]


def rules(incomplete: str) -> list[tuple[str, str]]:
    """Names of rules, with what they look for."""
    return [(name, r.doc) for name, r in _plugins().rules.items() if name.startswith(incomplete)]


def record_types(incomplete: str) -> list[str]:
    """Names of record types."""
    return [name for name in _plugins().record_types() if name.startswith(incomplete)]


def schemas(incomplete: str) -> list[tuple[str, str]]:
    """Names of record types and of views."""
    kinds = _plugins().record_types().values()
    first = [(k.name, k.doc.partition("\n")[0]) for k in kinds if k.name.startswith(incomplete)]
    return first + views(incomplete)


def _plugins() -> PluginManager:
    from harvest.plugins.registry import manager  # late: most calls complete nothing

    return manager()
