"""What the shell may complete: names of sources, sinks, views and record types."""

from __future__ import annotations

__all__ = ["record_types", "sinks", "sources", "views"]


def sources(incomplete: str) -> list[tuple[str, str]]:
    """``NAME:`` of every source, with its line of documentation."""
    from harvest.plugins.registry import manager

    return [
        (f"{name}:", s.doc) for name, s in manager().sources.items() if name.startswith(incomplete)
    ]


def sinks(incomplete: str) -> list[tuple[str, str]]:
    """``NAME:`` of every sink, with its line of documentation."""
    from harvest.plugins.registry import manager

    return [
        (f"{name}:", s.doc) for name, s in manager().sinks.items() if name.startswith(incomplete)
    ]


def views(incomplete: str) -> list[tuple[str, str]]:
    """Names of views, with what they hold."""
    from harvest.plugins.registry import manager

    return [(name, v.doc) for name, v in manager().views.items() if name.startswith(incomplete)]


def record_types(incomplete: str) -> list[str]:
    """Names of record types."""
    from harvest.plugins.registry import manager

    return [name for name in manager().record_types() if name.startswith(incomplete)]
