"""Shell completion: names, settings with their values, and words of options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harvest.plugins.registry import PluginManager

__all__ = ["Items", "keys", "named", "sources"]

Items = list[tuple[str, str]]
"""Possible completions, each with a line of description."""


def sources(incomplete: str) -> Items:
    """Return ``NAME:`` of every source, with its line of documentation."""
    return named(incomplete, _plugins().sources, ":")


def sinks(incomplete: str) -> Items:
    """Return ``NAME:`` of every sink, with its line of documentation."""
    return named(incomplete, _plugins().sinks, ":")


def engines(incomplete: str) -> Items:
    """Return the names of engines, with their lines of documentation."""
    return named(incomplete, _plugins().engines)


def settings(incomplete: str) -> Items:
    """Complete ``NAME.``, then ``NAME.KEY=``, then the values if they are words.

    If only one name matches, its keys follow immediately: a shell appends a blank to a single word.
    """
    found = _plugins()
    kinds = (("source", found.sources), ("sink", found.sinks), ("engine", found.engines))
    name, dot, _ = incomplete.partition(".")
    if not dot:
        specs = {n: spec for _, declared in kinds for n, spec in declared.items()}
        names = named(incomplete, specs, ".")
        if len(names) != 1:
            return names
        name = names[0][0].removesuffix(".")
    from harvest.api.settings import describe  # late: it imports the libraries that parse values

    classes = [getattr(found, kind)(name) for kind, declared in kinds if name in declared]
    known = (setting for cls in classes for setting in describe(cls.Config))
    return keys(incomplete, ((f"{name}.{setting.name}", setting) for setting in known))


def keys(incomplete: str, settings: Iterable[tuple[str, Any]]) -> Items:
    """Return ``KEY=`` of settings, or the values of the setting that is already typed."""
    items: Items = []
    for key, setting in settings:
        if incomplete.startswith(f"{key}="):
            items += [(f"{key}={word}", "") for word in setting.choices]
        else:
            items.append((f"{key}=", setting.doc))
    return _beginning(incomplete, items)


def named(incomplete: str, specs: Mapping[str, Any], sign: str = "") -> Items:
    """Return names of declarations, followed by a sign, each with its line of documentation."""
    return _beginning(incomplete, ((f"{name}{sign}", spec.doc) for name, spec in specs.items()))


def _beginning(incomplete: str, items: Iterable[tuple[str, str]]) -> Items:
    """Return the items that begin with the typed text, each with its first line of description."""
    return [(word, doc.partition("\n")[0]) for word, doc in items if word.startswith(incomplete)]


def _plugins() -> PluginManager:
    from harvest.plugins.registry import manager  # late: most calls complete nothing

    return manager()
