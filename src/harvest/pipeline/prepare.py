"""From a recipe's words to sources and sinks that are ready to work."""

from __future__ import annotations

from typing import Any

from harvest.api.settings import structure
from harvest.api.sink import Sink
from harvest.errors import ConfigError, UsageError, suggestion
from harvest.plugins.registry import PluginManager
from harvest.toolkit.texts import printable_line

from .plan import SourceUse
from .recipe import Endpoint, Recipe

__all__ = ["prepare_sinks", "prepare_sources"]


def prepare_sources(recipe: Recipe, plugins: PluginManager) -> list[SourceUse]:
    """The recipe's sources, configured; each has its name by ``name_sources``.

    Raises UsageError for what cannot be.
    """
    if not recipe.sources:
        raise UsageError("no source given", remedy="name one with --source NAME:LOCATION")
    _check_setting_names(recipe, plugins)
    return [_source(endpoint, recipe, plugins) for endpoint in recipe.sources]


def _source(endpoint: Endpoint, recipe: Recipe, plugins: PluginManager) -> SourceUse:
    name = endpoint.name
    if name is None:
        raise AssertionError("name_sources names each source before it is prepared")
    cls = plugins.source(name)
    settings = dict(recipe.settings.get(name, {}))
    config: Any = structure(cls.Config, settings, plugin=name)
    if not endpoint.location:
        raise UsageError(f"source {name!r} needs a location", remedy=f"write {name}:LOCATION")
    source = cls(endpoint.location, config)
    return SourceUse(
        source=source, settings=settings, version=plugins.version_of(plugins.sources[name])
    )


def prepare_sinks(recipe: Recipe, plugins: PluginManager) -> list[Sink]:
    """The recipe's sinks, configured.  Raises UsageError for what cannot be."""
    if not recipe.sinks:
        raise UsageError("no sink given", remedy="name one with --sink NAME:LOCATION")
    sinks: list[Sink] = []
    for endpoint in recipe.sinks:
        name = endpoint.name or _sink_by_suffix(endpoint.location, plugins)
        cls = plugins.sink(name)
        if not endpoint.location:
            raise UsageError(f"sink {name!r} needs a location", remedy=f"write {name}:LOCATION")
        sink = cls(
            endpoint.location,
            structure(cls.Config, recipe.settings.get(name, {}), plugin=name),
        )
        for other in sinks:
            if other.state == sink.state:
                raise UsageError("two sinks write to one place", where=str(sink.location))
        sinks.append(sink)
    return sinks


def _sink_by_suffix(location: str, plugins: PluginManager) -> str:
    for spec in plugins.sinks.values():
        if any(location.endswith(suffix) for suffix in spec.suffixes):
            return spec.name
    raise UsageError(
        "which sink?",
        where=printable_line(location),
        remedy="write NAME:LOCATION; sinks: " + ", ".join(plugins.sinks),
    )


def _check_setting_names(recipe: Recipe, plugins: PluginManager) -> None:
    known = {*plugins.sources, *plugins.sinks, *plugins.engines}
    for name in recipe.settings:
        if name not in known:
            raise ConfigError(
                f"settings are given for {name!r}, which is no source, sink or engine",
                remedy=suggestion(name, known),
            )
