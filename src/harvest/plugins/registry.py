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
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import attrs
import pluggy

from harvest.api.rule import Rule
from harvest.api.sink import Sink
from harvest.api.source import Source
from harvest.api.spec import (
    API_VERSION,
    GROUP,
    OLDEST_API_VERSION,
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
from harvest.model import RecordType, record_type

__all__ = ["DISABLE_VARIABLE", "BrokenPlugin", "Plugin", "PluginManager", "manager"]

DISABLE_VARIABLE = "HARVEST_DISABLE_PLUGINS"
"""Environment variable with names of plugins to leave out, separated by commas."""

HOOKS = tuple(name for name in vars(Hooks) if name.startswith("harvest_"))
"""Names of the hooks that a plugin may implement."""

S = TypeVar("S", SourceSpec, SinkSpec, EngineSpec, ReportSpec, CommandGroup, View, Rule)


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
        try:
            plugin = _import(point, distribution)
            _check_api(plugin, distribution)
            self._check_marks(plugin, distribution)
            self._call_hooks(point.name, plugin, distribution)
        except PluginError as problem:
            self.broken[point.name] = BrokenPlugin(
                point.name,
                distribution,
                version,
                problem.message,
                problem.remedy or f"update {distribution}",
                problem.__cause__,
            )
        else:
            self.plugins[point.name] = Plugin(point.name, distribution, version, point.value)

    def _check_marks(self, plugin: Any, distribution: str) -> None:
        """Raise PluginError for a hook without its mark, which pluggy would pass over."""
        for hook in HOOKS:
            function = getattr(plugin, hook, None)
            if callable(function) and self._pluggy.parse_hookimpl_opts(plugin, hook) is None:
                raise PluginError(
                    f"{hook} is not marked as a hook",
                    remedy=f"ask the author of {distribution} to write @harvest.hookimpl above it",
                )

    def _call_hooks(self, name: str, plugin: Any, distribution: str) -> None:
        try:
            self._pluggy.register(plugin, name=name)
            self._pluggy.check_pending()
            self._take_declarations(name, plugin)
        except Exception as error:  # a hook is a stranger's code
            if self._pluggy.has_plugin(name):
                self._pluggy.unregister(name=name)
            raise PluginError(
                f"registering it failed: {type(error).__name__}: {error}",
                remedy=f"update {distribution}, or set {DISABLE_VARIABLE}={name}",
            ) from error

    def _take_declarations(self, plugin_name: str, plugin: Any) -> None:
        taken: list[tuple[str, str, Any]] = []
        others = [other for other in self._pluggy.get_plugins() if other is not plugin]
        for hook in HOOKS:
            kind = hook.removeprefix("harvest_")
            # each plugin by itself: what one raises harms no other
            for spec in chain(*self._pluggy.subset_hook_caller(hook, others)()):
                known = self._declared.get(kind, {}).get(spec.name)
                if known is not None:
                    raise PluginError(
                        f"{kind[:-1]} {spec.name!r} is already declared by plugin "
                        f"{self._owner[id(known)]!r}"
                    )
                taken.append((kind, spec.name, spec))
        for kind, name, spec in taken:
            self._declared.setdefault(kind, {})[name] = spec
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
    def rules(self) -> Mapping[str, Rule]:
        """Declared rules by name."""
        return self._all("rules")

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
        return self.load(self._by_name("source", self.sources, name))  # type: ignore[no-any-return]

    def sink(self, name: str) -> type[Sink]:
        """The sink class of this name; raises UsageError or PluginError."""
        return self.load(self._by_name("sink", self.sinks, name))  # type: ignore[no-any-return]

    def engine(self, name: str) -> Any:
        """The engine class of this name; raises UsageError or PluginError."""
        return self.load(self._by_name("engine", self.engines, name))

    def view(self, name: str) -> View:
        """The view of this name; raises UsageError or PluginError."""
        return self._by_name("view", self.views, name)

    def report(self, name: str) -> ReportSpec:
        """The report of this name; raises UsageError or PluginError."""
        return self._by_name("report", self.reports, name)

    def rule(self, name: str) -> Rule:
        """The rule of this name; raises UsageError or PluginError."""
        return self._by_name("rule", self.rules, name)

    def version_of(self, spec: Any) -> str:
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
                source = self.load(spec)
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

    def _by_name(self, kind: str, known: Mapping[str, S], name: str) -> S:
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

    def load(self, spec: Any) -> Any:
        """The class that a declaration names; raises PluginError when it cannot be imported."""
        return self.load_part(spec, spec.factory, repr(spec.name))

    def load_app(self, name: str) -> Any:
        """The commands behind a declared group; raises PluginError when they cannot be imported."""
        spec = self.commands[name]
        return self.load_part(spec, spec.app, "the commands")

    def load_part(self, spec: Any, target: Any, what: str) -> Any:
        """What a declaration names by ``module:attribute``, or gives itself.

        Raises PluginError, which names the part by ``what``, when it cannot be imported.
        """
        try:
            return resolve(target)
        except Exception as error:
            plugin = self.owner(spec)
            raise PluginError(
                f"{what} of plugin {plugin.name!r} cannot be imported: "
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


def _import(point: EntryPoint, distribution: str) -> Any:
    """What to register for an entry point; raises PluginError."""
    try:
        loaded = point.load()
    # whatever a stranger's module raises at import must not take the program down
    except Exception as error:
        raise PluginError(
            f"importing {point.value} failed: {type(error).__name__}: {error}",
            remedy=f"reinstall or update {distribution}, or set {DISABLE_VARIABLE}={point.name}",
        ) from error
    plugin = _as_plugin(loaded)
    if plugin is None:
        raise PluginError(
            f"{point.value} is neither a module with hooks nor a Source or Sink class",
            remedy=f"ask the author of {distribution} to correct its entry point",
        )
    return plugin


def _check_api(plugin: Any, distribution: str) -> None:
    """Raise PluginError for a plugin that is written for a plugin API that is not offered."""
    api = getattr(plugin, "harvest_api", 1)
    if type(api) is not int:
        raise PluginError(
            f"it states {api!r} as its plugin API, which is not a whole number",
            remedy=f"ask the author of {distribution} to correct it",
        )
    if OLDEST_API_VERSION <= api <= API_VERSION:
        return
    several = f"{OLDEST_API_VERSION} to " if OLDEST_API_VERSION < API_VERSION else ""
    raise PluginError(
        f"it is written for plugin API {api}; this harvest offers {several}{API_VERSION}",
        remedy="update hpc-harvest"
        if api > API_VERSION
        else f"install a version of {distribution} for plugin API {API_VERSION}",
    )


def _as_plugin(loaded: Any) -> Any | None:
    """A module with hooks, or a wrapper round a bare class; None for anything else."""
    if not isinstance(loaded, type):
        return loaded if any(name.startswith("harvest_") for name in dir(loaded)) else None
    if issubclass(loaded, Source):
        return _OneSource(loaded)
    return _OneSink(loaded) if issubclass(loaded, Sink) else None


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
