"""Finding plugins and asking them what they offer.

Plugins are entry points of the group ``harvest``.  One that cannot be imported, or that needs
another plugin API, is remembered with cause and remedy and harms nothing else; asking for it by
name raises the error that kept it out.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeVar

import attrs
import pluggy

from harvest.api.sink import Sink
from harvest.api.source import Source
from harvest.api.spec import (
    API_VERSION,
    GROUP,
    CommandGroup,
    EngineSpec,
    Hooks,
    ReportSpec,
    SinkSpec,
    SourceSpec,
    hookimpl,
)
from harvest.api.view import View
from harvest.errors import PluginError, UsageError, suggestion
from harvest.model import Record, RecordType, record_type

__all__ = ["DISABLE_VARIABLE", "BrokenPlugin", "Plugin", "PluginManager", "manager"]

DISABLE_VARIABLE = "HARVEST_DISABLE_PLUGINS"
"""Environment variable with names of plugins to leave out, separated by commas."""

S = TypeVar("S", SourceSpec, SinkSpec, EngineSpec, ReportSpec, CommandGroup, View)


@attrs.frozen
class Plugin:
    """A plugin that is registered.

    name: of its entry point; distribution and version: where it comes from.
    """

    name: str
    distribution: str
    version: str
    module: str


@attrs.frozen
class BrokenPlugin:
    """A plugin that could not be registered.

    cause: what went wrong, in one line; remedy: what to do; error: the exception, if any.
    """

    name: str
    distribution: str
    version: str
    cause: str
    remedy: str
    error: BaseException | None = attrs.field(default=None, eq=False, repr=False)


class PluginManager:
    """The plugins of this environment, and everything they declare, by name."""

    def __init__(self, points: Iterable[EntryPoint] | None = None, disabled: str | None = None):
        self._pluggy = pluggy.PluginManager(GROUP)
        self._pluggy.add_hookspecs(Hooks)
        self.plugins: dict[str, Plugin] = {}
        self.broken: dict[str, BrokenPlugin] = {}
        self._owner: dict[int, str] = {}
        self._declared: dict[str, dict[str, Any]] = {}
        chosen = os.environ.get(DISABLE_VARIABLE, "") if disabled is None else disabled
        self.disabled = tuple(n.strip() for n in chosen.split(",") if n.strip())
        found = entry_points(group=GROUP) if points is None else points
        for point in sorted(found, key=lambda p: p.name):
            if point.name not in self.disabled:
                self._register(point)

    def _register(self, point: EntryPoint) -> None:
        distribution = point.dist.name if point.dist is not None else "(unknown)"
        version = point.dist.version if point.dist is not None else "(unknown)"

        def broken(cause: str, remedy: str, error: BaseException | None = None) -> None:
            self.broken[point.name] = BrokenPlugin(
                point.name, distribution, version, cause, remedy, error
            )

        try:
            loaded = point.load()
        # whatever a stranger's module raises at import must not take the program down
        except Exception as error:  # noqa: BLE001
            broken(
                f"importing {point.value} failed: {type(error).__name__}: {error}",
                f"reinstall or update {distribution}, or set {DISABLE_VARIABLE}={point.name}",
                error,
            )
            return
        plugin = _as_plugin(loaded)
        if plugin is None:
            broken(
                f"{point.value} is neither a module with hooks nor a Source or Sink class",
                f"ask the author of {distribution} to correct its entry point",
            )
            return
        api = getattr(plugin, "harvest_api", 1)
        if api != API_VERSION:
            broken(
                f"it is written for plugin API {api!r}; this harvest offers {API_VERSION}",
                f"install a version of {distribution} for plugin API {API_VERSION}"
                if not isinstance(api, int) or api < API_VERSION
                else "update hpc-harvest",
            )
            return
        try:
            self._pluggy.register(plugin, name=point.name)
            self._pluggy.check_pending()
            self._take_declarations(point.name, plugin)
        except Exception as error:  # noqa: BLE001 - as above: a hook is a stranger's code too
            if self._pluggy.has_plugin(point.name):
                self._pluggy.unregister(name=point.name)
            broken(
                f"registering it failed: {type(error).__name__}: {error}",
                f"update {distribution}, or set {DISABLE_VARIABLE}={point.name}",
                error,
            )
            return
        self.plugins[point.name] = Plugin(point.name, distribution, version, point.value)

    def _take_declarations(self, plugin_name: str, plugin: Any) -> None:
        taken: list[tuple[str, str, Any]] = []
        for hook in ("sources", "sinks", "views", "reports", "engines", "commands"):
            function = getattr(plugin, f"harvest_{hook}", None)
            for spec in function() if function is not None else ():
                known = self._declared.get(hook, {}).get(spec.name)
                if known is not None:
                    raise PluginError(
                        f"{hook[:-1]} {spec.name!r} is already declared by plugin "
                        f"{self._owner[id(known)]!r}"
                    )
                taken.append((hook, spec.name, spec))
        for hook, name, spec in taken:
            self._declared.setdefault(hook, {})[name] = spec
            self._owner[id(spec)] = plugin_name

    def owner(self, spec: Any) -> Plugin:
        """The plugin that declared ``spec``."""
        return self.plugins[self._owner[id(spec)]]

    def _all(self, hook: str) -> dict[str, Any]:
        return dict(sorted(self._declared.get(hook, {}).items()))

    @property
    def sources(self) -> Mapping[str, SourceSpec]:
        """Declared sources by name."""
        return self._all("sources")

    @property
    def sinks(self) -> Mapping[str, SinkSpec]:
        """Declared sinks by name."""
        return self._all("sinks")

    @property
    def views(self) -> Mapping[str, View]:
        """Declared views by name."""
        return self._all("views")

    @property
    def reports(self) -> Mapping[str, ReportSpec]:
        """Declared reports by name."""
        return self._all("reports")

    @property
    def engines(self) -> Mapping[str, EngineSpec]:
        """Declared engines by name."""
        return self._all("engines")

    @property
    def commands(self) -> Mapping[str, CommandGroup]:
        """Declared groups of commands by name."""
        return self._all("commands")

    def source(self, name: str) -> type[Source]:
        """The source class of this name; raises UsageError or PluginError."""
        return self._load(self._named("source", self.sources, name))  # type: ignore[no-any-return]

    def sink(self, name: str) -> type[Sink]:
        """The sink class of this name; raises UsageError or PluginError."""
        return self._load(self._named("sink", self.sinks, name))  # type: ignore[no-any-return]

    def engine(self, name: str) -> Any:
        """The engine class of this name; raises UsageError or PluginError."""
        return self._load(self._named("engine", self.engines, name))

    def view(self, name: str) -> View:
        """The view of this name; raises UsageError or PluginError."""
        return self._named("view", self.views, name)

    def report(self, name: str) -> ReportSpec:
        """The report of this name; raises UsageError or PluginError."""
        return self._named("report", self.reports, name)

    def version_of(self, spec: SourceSpec | SinkSpec) -> str:
        """``distribution version`` of the plugin that declared ``spec``."""
        plugin = self.owner(spec)
        return f"{plugin.distribution} {plugin.version}"

    def record_types(self) -> Mapping[str, RecordType]:
        """All record types that sources declare, by name; imports every source.

        A source that cannot be imported is left out here and listed in ``broken``.
        """
        types: dict[str, RecordType] = {}
        for spec in self.sources.values():
            try:
                source = self._load(spec)
            except PluginError as error:
                self._note_broken(spec, error)
                continue
            for cls in source.record_types:
                kind = record_type(cls)
                types.setdefault(kind.name, kind)
        return dict(sorted(types.items()))

    def _note_broken(self, spec: SourceSpec, error: PluginError) -> None:
        plugin = self.owner(spec)
        self.broken[plugin.name] = BrokenPlugin(
            plugin.name,
            plugin.distribution,
            plugin.version,
            error.message,
            error.remedy or f"update {plugin.distribution}",
            error,
        )

    def _named(self, kind: str, known: Mapping[str, S], name: str) -> S:
        if name in known:
            return known[name]
        if name in self.broken:
            problem = self.broken[name]
            raise PluginError(
                f"plugin {name!r} cannot be used: {problem.cause}", remedy=problem.remedy
            ) from problem.error
        if name in self.disabled:
            raise UsageError(
                f"{kind} {name!r} is disabled", remedy=f"change {DISABLE_VARIABLE} to use it"
            )
        raise UsageError(f"there is no {kind} {name!r}", remedy=suggestion(name, known))

    def _load(self, spec: Any) -> Any:
        try:
            return resolve(spec.factory)
        except Exception as error:
            plugin = self.owner(spec)
            raise PluginError(
                f"{spec.name!r} of plugin {plugin.name!r} cannot be imported: "
                f"{type(error).__name__}: {error}",
                remedy=f"reinstall or update {plugin.distribution}, with the extras it needs",
            ) from error

    def load(self, spec: Any) -> Any:
        """The class that a declaration names; raises PluginError when it cannot be imported."""
        return self._load(spec)

    def load_app(self, name: str) -> Any:
        """The commands behind a declared group; raises PluginError when they cannot be imported."""
        spec = self.commands[name]
        try:
            return resolve(spec.app)
        except Exception as error:
            plugin = self.owner(spec)
            raise PluginError(
                f"the commands of plugin {plugin.name!r} cannot be imported: "
                f"{type(error).__name__}: {error}",
                remedy=f"reinstall or update {plugin.distribution}, with the extras it needs",
            ) from error

    def __iter__(self) -> Iterator[Plugin]:
        return iter(self.plugins.values())


def resolve(target: Any) -> Any:
    """The object behind ``module:attribute``, or the target itself when it is none."""
    if not isinstance(target, str):
        return target
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _as_plugin(loaded: Any) -> Any | None:
    """What to register for an entry point: its module, or a wrapper round a bare class."""
    if isinstance(loaded, type):
        if issubclass(loaded, Source):
            return _OneSource(loaded)
        if issubclass(loaded, Sink):
            return _OneSink(loaded)
        if issubclass(loaded, Record):
            return None
        return None
    return loaded if any(name.startswith("harvest_") for name in dir(loaded)) else None


class _OneSource:
    """A plugin that is a single source class."""

    def __init__(self, cls: type[Source]):
        self.cls = cls
        self.harvest_api = cls.api_version

    @hookimpl
    def harvest_sources(self) -> Iterable[SourceSpec]:
        """Declare the class."""
        return [SourceSpec(name=self.cls.name, doc=_first_line(self.cls), factory=self.cls)]


class _OneSink:
    """A plugin that is a single sink class."""

    def __init__(self, cls: type[Sink]):
        self.cls = cls
        self.harvest_api = cls.api_version

    @hookimpl
    def harvest_sinks(self) -> Iterable[SinkSpec]:
        """Declare the class."""
        return [SinkSpec(name=self.cls.name, doc=_first_line(self.cls), factory=self.cls)]


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().partition("\n")[0]


def split_location(text: str, known: Iterable[str]) -> tuple[str | None, str]:
    """Split ``NAME:LOCATION``; the name is None where the text is a bare location.

    Locations may hold colons themselves, so only a known name, or a word that looks like one
    and is not the beginning of an existing path, counts as a name.
    """
    name, colon, location = text.partition(":")
    if not colon:
        return None, text
    if name in known:
        return name, location
    looks_like_a_name = name.replace("-", "").replace("_", "").isalnum()
    if looks_like_a_name and not Path(text).exists():
        return name, location
    return None, text


@cache
def manager() -> PluginManager:
    """The plugins of this process, found once."""
    return PluginManager()
