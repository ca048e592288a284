"""What the shell may complete: names, settings with their values, and words of options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harvest.plugins.registry import PluginManager

__all__ = ["Items", "keys", "named", "sources"]

Items = list[tuple[str, str]]
"""What a word may become, each with a line that says what it is."""


def sources(incomplete: str) -> Items:
    """``NAME:`` of every source, with its line of documentation."""
    return _begun(incomplete, _plugins().sources, ":")


def sinks(incomplete: str) -> Items:
    """``NAME:`` of every sink, with its line of documentation."""
    return _begun(incomplete, _plugins().sinks, ":")


def engines(incomplete: str) -> Items:
    """Names of engines, with where they run partitions."""
    return named(incomplete, _plugins().engines)


def settings(incomplete: str) -> Items:
    """``NAME.`` of what has settings, then ``NAME.KEY=``, then the values where they are words.

    Where one name is left its keys follow immediately: a shell puts a blank behind a single word.
    """
    found = _plugins()
    kinds = (("source", found.sources), ("sink", found.sinks), ("engine", found.engines))
    name, dot, _ = incomplete.partition(".")
    if not dot:
        specs = {n: spec for _, declared in kinds for n, spec in declared.items()}
        names = _begun(incomplete, specs, ".")
        if len(names) != 1:
            return names
        name = names[0][0].removesuffix(".")
    from harvest.api.settings import describe  # late: it imports what reads values

    classes = [getattr(found, kind)(name) for kind, declared in kinds if name in declared]
    known = (setting for cls in classes for setting in describe(cls.Config))
    return keys(incomplete, ((f"{name}.{setting.name}", setting) for setting in known))


def keys(incomplete: str, settings: Iterable[tuple[str, Any]]) -> Items:
    """``KEY=`` of settings; of the one that was typed, the values."""
    items: Items = []
    for key, setting in settings:
        if incomplete.startswith(f"{key}="):
            items += [(f"{key}={word}", "") for word in setting.choices]
        else:
            items.append((f"{key}=", setting.doc))
    return _beginning(incomplete, items)


def named(incomplete: str, specs: Mapping[str, Any]) -> Items:
    """Names of what plugins declare, each with its line of documentation."""
    return _begun(incomplete, specs)


def _begun(incomplete: str, specs: Mapping[str, Any], sign: str = "") -> Items:
    return _beginning(incomplete, ((f"{name}{sign}", spec.doc) for name, spec in specs.items()))


def _beginning(incomplete: str, items: Iterable[tuple[str, str]]) -> Items:
    """Those that begin with what was typed, each with the first line of what it is."""
    return [(word, doc.partition("\n")[0]) for word, doc in items if word.startswith(incomplete)]


def _plugins() -> PluginManager:
    from harvest.plugins.registry import manager  # late: most calls complete nothing

    return manager()
