"""Endpoints: the notation of sources and sinks, its meaning, and configured sources.

    slurm:dumps                         a name and a location
    dumps                               a location, for the sources that recognise it
    slurm:-                             standard input (``harvest.reading.pipes``)
    ./greeting.py:hello.txt             the one source of a Python file
    ./greeting.py:GreetingSource:in     a class of a Python file
    hpc-harvest-slurm:slurm:dumps       a distribution's source, where others have one of the name

A program may also give a source or sink object.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from harvest.api.settings import default_of
from harvest.api.sink import Sink
from harvest.api.source import Partition, Source
from harvest.errors import ConfigError, UsageError
from harvest.plugins.registry import PluginManager
from harvest.reading.pipes import Pipe

from .recipe import Endpoint, Recipe


@attrs.frozen(kw_only=True)
class SourceUse:
    """A configured source of a run.

    settings: the values it was configured with; version: of the plugin's distribution.
    plugin: the distribution or file that the user named for it; None if none was named.
    pipe: the pipe that it reads, by a file with the pipe's content; None for other locations.
    """

    source: Source
    settings: Mapping[str, Any]
    version: str
    plugin: str | None = None
    pipe: Pipe | None = None


Listed: TypeAlias = "list[tuple[SourceUse, Partition]]"
"""Partitions with the source that reads them."""


def endpoints_of(given: Any, kind: str, plugins: PluginManager) -> tuple[Endpoint, ...]:
    """Parse one text or object, or several, to endpoints; kind: source or sink."""
    single = isinstance(given, (str, Path, type, Source, Sink))
    listed: Iterable[Any] = [given] if single else given
    return tuple(
        endpoint_of(str(each), kind, plugins)
        if isinstance(each, (str, Path))
        else _of_object(each, kind, plugins)
        for each in listed
    )


def _of_object(made: Any, kind: str, plugins: PluginManager) -> Endpoint:
    base = Source if kind == "source" else Sink
    if not isinstance(made, base):
        what = f"the class {made.__name__}" if isinstance(made, type) else repr(made)
        remedy = f"give NAME:LOCATION, or an object of a subclass of harvest.{base.__name__}"
        raise UsageError(f"{what} is not a {kind}", remedy=remedy)
    plugins.add_class(type(made))
    return Endpoint(made.name, str(made.location), made=made)


def endpoint_of(text: str, kind: str, plugins: PluginManager) -> Endpoint:
    """Parse the text of one endpoint.

    Locations may contain colons. A word before a colon is a name if it is known, a Python file, an
    installed distribution, or looks like a name. If the whole text is an existing path, only a
    known name counts.
    """
    word, colon, rest = text.partition(":")
    if not colon:
        return Endpoint(None, text)
    if plugins.claims.of(f"{kind}s", word):
        return Endpoint(word, rest)
    if Path(text).exists():
        return Endpoint(None, text)
    if word.endswith(".py"):
        return _of_file(str(Path(word).expanduser().absolute()), rest)
    if plugins.is_distribution(word):
        name, colon, location = rest.partition(":")
        if colon:
            return Endpoint(name, location, word)
    return Endpoint(word, rest) if _looks_like_a_name(word) else Endpoint(None, text)


def _of_file(file: str, text: str) -> Endpoint:
    """Parse the text after a Python file: a location, optionally after a class name."""
    word, colon, location = text.partition(":")
    is_address = location.startswith("//")
    if colon and _looks_like_a_name(word) and not is_address and not Path(text).exists():
        return Endpoint(word, location, file)
    return Endpoint(None, text, file)


def _looks_like_a_name(word: str) -> bool:
    return word.replace("-", "").replace("_", "").isalnum()


def bind(recipe: Recipe, plugins: PluginManager) -> Recipe:
    """Return the recipe with the names of sources and sinks that come from files or objects.

    Loads the files. Adds settings of objects to the recipe; raises ConfigError if they conflict.
    """
    settings = {name: dict(values) for name, values in recipe.settings.items()}
    own: dict[str, Mapping[str, Any]] = {}
    for endpoint in (*recipe.sources, *recipe.sinks):
        if endpoint.made is None:
            continue
        values = own_settings(endpoint.made)
        name, fields = str(endpoint.name), attrs.fields_dict(type(endpoint.made).Config)
        # an engine may have the name, too
        given = {k: v for k, v in settings.get(name, {}).items() if k.partition(".")[0] in fields}
        if own.setdefault(name, values) != values or given not in ({}, values):
            problem = f"the objects of {name!r} bring settings of their own, and others are given"
            raise ConfigError(problem, remedy="make a run for each, or give the settings once")
    return attrs.evolve(
        recipe,
        sources=tuple(_bound(endpoint, "source", plugins) for endpoint in recipe.sources),
        sinks=tuple(_bound(endpoint, "sink", plugins) for endpoint in recipe.sinks),
        settings=settings
        | {name: {**settings.get(name, {}), **values} for name, values in own.items() if values},
    )


def _bound(endpoint: Endpoint, kind: str, plugins: PluginManager) -> Endpoint:
    if endpoint.plugin is None or endpoint.made is not None:
        return endpoint
    spec = plugins.find_of(kind, endpoint.plugin, endpoint.name)
    return attrs.evolve(endpoint, name=spec.name)


def own_settings(made: Source | Sink) -> dict[str, Any]:
    """Return the settings of an object that differ from the defaults."""
    values = {field: getattr(made.config, field.name) for field in attrs.fields(type(made.config))}
    return {field.name: value for field, value in values.items() if value != default_of(field)}
