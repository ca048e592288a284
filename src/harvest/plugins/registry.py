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
from typing import Any

import attrs
import pluggy

from harvest.api.from_file import load_file, loaded_file
from harvest.api.rule import Rule
from harvest.api.sink import Sink
from harvest.api.source import Source
from harvest.api.spec import (
    API_VERSION,
    COMMANDS,
    GROUP,
    OLDEST_API_VERSION,
    Command,
    EngineSpec,
    ExporterSpec,
    Hooks,
    ReportSpec,
    SinkSpec,
    SourceSpec,
)
from harvest.api.view import View
from harvest.errors import PluginError
from harvest.model import RecordType, record_type
from harvest.plugin_code import contained

from .claims import (
    DISABLE_VARIABLE,
    PREFER_VARIABLE,
    UNKNOWN,
    BrokenPlugin,
    Claim,
    Claims,
    Plugin,
)
from .given import (
    COMMITTED,
    DECLARATIONS,
    HOOKS,
    RECORD_TYPES,
    Objects,
    import_point,
    of_module,
    plugin_of_class,
    require_record_types,
)
from .lookup import Lookup

__all__ = [
    "DISABLE_VARIABLE",
    "BrokenPlugin",
    "Plugin",
    "PluginManager",
    "add_plugin",
    "manager",
    "manager_of_commands",
    "plugins_of",
    "resolve",
]


class PluginManager(Lookup):
    """The plugins of this environment, and everything they declare, by name."""

    def __init__(
        self,
        points: Iterable[EntryPoint] | None = None,
        disabled: str | None = None,
        preferred: str | None = None,
        *,
        modules: Mapping[EntryPoint, EntryPoint] | None = None,
    ):
        """modules: what is imported in place of a plugin's own entry point."""
        self._modules = modules or {}
        self._pluggy = pluggy.PluginManager(GROUP)
        self._pluggy.add_hookspecs(Hooks)
        super().__init__(Claims(_names(PREFER_VARIABLE, preferred)))
        self.disabled = _names(DISABLE_VARIABLE, disabled)
        found = entry_points(group=GROUP) if points is None else points
        named = [(_as_named(point), point) for point in sorted(found, key=lambda p: p.name)]
        used = [(p, point) for p, point in named if not self._is_disabled(p)]
        for plugin, _ in used:
            self.claims.add("plugins", Claim(plugin, plugin))
        for plugin, point in used:
            self._register(plugin, point)

    def _is_disabled(self, plugin: Plugin) -> bool:
        own = (plugin.name, plugin.distribution, f"{plugin.distribution}:{plugin.name}")
        return any(name in self.disabled for name in own)

    def _register(self, named: Plugin, point: EntryPoint) -> None:
        plugin = named
        if self.claims.all("plugins").get(named.name) != named:  # it is another distribution's
            plugin = attrs.evolve(named, name=f"{named.distribution}:{named.name}")
        try:
            loaded = import_point(self._modules.get(point, point), plugin.distribution)
            self._add(plugin, loaded)
        except PluginError as problem:
            self.broken[plugin.name] = _as_broken(plugin, problem, problem.__cause__)

    def _add(self, plugin: Plugin, hooks: Any) -> None:
        """Register a plugin with all that it declares; raises PluginError."""
        _check_api(hooks, plugin.distribution)
        self._check_marks(hooks, plugin.distribution)
        self._call_hooks(plugin, hooks)
        self.plugins[plugin.name] = plugin

    def _check_marks(self, plugin: Any, distribution: str) -> None:
        """Raise PluginError for a hook without its mark, which pluggy would pass over."""
        for hook in HOOKS:
            function = getattr(plugin, hook, None)
            if callable(function) and self._pluggy.parse_hookimpl_opts(plugin, hook) is None:
                raise PluginError(
                    f"{hook} is not marked as a hook",
                    remedy=f"ask the author of {distribution} to write @harvest.hookimpl above it",
                )

    def _call_hooks(self, plugin: Plugin, hooks: Any) -> None:
        name = plugin.name
        try:
            with contained():
                self._pluggy.register(hooks, name=name)
                self._pluggy.check_pending()
                self._take_declarations(plugin, hooks)
        except Exception as error:  # a hook is a stranger's code
            if self._pluggy.has_plugin(name):
                self._pluggy.unregister(name=name)
            if isinstance(error, PluginError):
                raise
            raise PluginError(
                f"registering it failed: {type(error).__name__}: {error}",
                remedy=f"update {plugin.distribution}, or set {DISABLE_VARIABLE}={name}",
            ) from error

    def _take_declarations(self, plugin: Plugin, hooks: Any) -> None:
        taken: dict[tuple[str, str], Claim] = {}
        for hook in DECLARATIONS:
            kind = hook.removeprefix("harvest_")
            for spec in chain(*self._only(hook, hooks)()):
                claim = Claim(plugin, spec)
                earlier = [*self.claims.of(kind, spec.name)]
                earlier += [taken[kind, spec.name]] if (kind, spec.name) in taken else []
                for other in earlier:
                    _check_distinct(kind, claim, other)
                taken[kind, spec.name] = claim
        for (kind, _), claim in taken.items():
            self.claims.add(kind, claim)
            self._owner[id(claim.spec)] = plugin

    def _only(self, hook: str, hooks: Any) -> pluggy.HookCaller:
        """Calls a hook of one plugin: what one raises harms no other."""
        others = [other for other in self._pluggy.get_plugins() if other is not hooks]
        return self._pluggy.subset_hook_caller(hook, others)

    def listeners(self) -> list[str]:
        """Names of the plugins that hear of commits."""
        hook = getattr(self._pluggy.hook, COMMITTED)
        return sorted(each.plugin_name for each in hook.get_hookimpls())

    def announce(self, dataset: Any, result: Any) -> list[str]:
        """Call ``harvest_committed`` of each plugin that has it; what failed, a text for each."""
        failed = []
        for name in self.listeners():
            listener = self._only(COMMITTED, self._pluggy.get_plugin(name))
            try:
                with contained():
                    listener(dataset=dataset, result=result)
            except Exception as error:  # noqa: BLE001 - a stranger's code, of any error
                failed.append(
                    f"plugin {name!r} failed to hear of the commit to {dataset.sink.location}, "
                    f"which stands: {type(error).__name__}: {error}; {self.blame(error)}"
                )
        return failed

    def add_file(self, path: Path) -> Plugin:
        """The plugin that a Python file is; it is executed, unless it was and is unchanged.

        Raises UsageError where the file is absent, PluginError where it is not a plugin, or
        declares what another plugin does.
        """
        module = load_file(path)
        loaded = loaded_file(module)
        plugin = Plugin(path.stem, path.name, loaded.digest, loaded.path, installed=False)
        earlier = self.plugins.get(plugin.name)
        if earlier == plugin:
            return plugin
        if earlier is not None and earlier.module != plugin.module:
            raise PluginError(
                f"a plugin {earlier.name!r} is there already ({earlier.distribution})",
                where=str(path),
                remedy="give the file another name",
            )
        if earlier is not None:
            self._remove(earlier)
        self._add(plugin, of_module(module))
        return plugin

    def find_of(self, kind: str, owner: str, name: str | None) -> Any:
        """What a plugin declares under a name; of a file, the one thing of this kind without one.

        owner: a distribution, or the path of a Python file, which is loaded.
        Raises as ``find``, and UsageError where a file declares several and no name is given.
        """
        if owner.endswith(".py"):
            return self.in_file(kind, owner, self.add_file(Path(owner)), name)
        return super().find_of(kind, owner, name)

    def add_class(self, cls: type[Source] | type[Sink]) -> Any:
        """What declares a class; where nothing does, the class becomes a plugin by itself.

        A class of a program or a notebook takes the place of an earlier one of its name.
        Raises PluginError where another plugin declares its name.
        """
        if (known := self.declaring(cls)) is not None:
            return known
        kind = "sources" if issubclass(cls, Source) else "sinks"
        plugin = plugin_of_class(cls)
        earlier = [claim.plugin for claim in self.claims.of(kind, cls.name)]
        for other in (*earlier, *filter(None, [self.plugins.get(plugin.name)])):
            if not other.installed and other.module == plugin.module and other.name in self.plugins:
                self._remove(other)
        self._add(plugin, Objects([cls]))
        return self.claims.of(kind, cls.name)[0].spec

    def declaring(self, cls: type[Source] | type[Sink]) -> Any | None:
        """What declares a class; None where nothing does."""
        kind = "sources" if issubclass(cls, Source) else "sinks"
        specs = (claim.spec for claim in self.claims.of(kind, cls.name))
        return next((spec for spec in specs if self.load(spec) is cls), None)

    def _remove(self, plugin: Plugin) -> None:
        self._pluggy.unregister(name=plugin.name)
        self.claims.drop(plugin)
        self._owner = {spec: owner for spec, owner in self._owner.items() if owner != plugin}
        del self.plugins[plugin.name]

    @property
    def sources(self) -> Mapping[str, SourceSpec]:
        """Declared sources by name."""
        return self.claims.all("sources")

    @property
    def sinks(self) -> Mapping[str, SinkSpec]:
        """Declared sinks by name."""
        return self.claims.all("sinks")

    @property
    def views(self) -> Mapping[str, View]:
        """Declared views by name."""
        return self.claims.all("views")

    @property
    def reports(self) -> Mapping[str, ReportSpec]:
        """Declared reports by name."""
        return self.claims.all("reports")

    @property
    def rules(self) -> Mapping[str, Rule]:
        """Declared rules by name."""
        return self.claims.all("rules")

    @property
    def exporters(self) -> Mapping[str, ExporterSpec]:
        """Declared exporters by name."""
        return self.claims.all("exporters")

    @property
    def engines(self) -> Mapping[str, EngineSpec]:
        """Declared engines by name."""
        return self.claims.all("engines")

    @property
    def commands(self) -> Mapping[str, Command]:
        """Declared commands and groups of commands by name."""
        return self.claims.all("commands")

    def source(self, name: str) -> type[Source]:
        """The source class of this name; raises UsageError or PluginError."""
        return self.load(self.find("source", name))  # type: ignore[no-any-return]

    def sink(self, name: str) -> type[Sink]:
        """The sink class of this name; raises UsageError or PluginError."""
        return self.load(self.find("sink", name))  # type: ignore[no-any-return]

    def engine(self, name: str) -> Any:
        """The engine class of this name; raises UsageError or PluginError."""
        return self.load(self.find("engine", name))

    def view(self, name: str) -> View:
        """The view of this name; raises UsageError or PluginError."""
        return self.find("view", name)  # type: ignore[no-any-return]

    def report(self, name: str) -> ReportSpec:
        """The report of this name; raises UsageError or PluginError."""
        return self.find("report", name)  # type: ignore[no-any-return]

    def exporter(self, name: str) -> ExporterSpec:
        """The exporter of this name; raises UsageError or PluginError."""
        return self.find("exporter", name)  # type: ignore[no-any-return]

    def rule(self, name: str) -> Rule:
        """The rule of this name; raises UsageError or PluginError."""
        return self.find("rule", name)  # type: ignore[no-any-return]

    def version_of(self, spec: Any) -> str:
        """``distribution version`` of the plugin that declared ``spec``."""
        plugin = self.owner(spec)
        return f"{plugin.distribution} {plugin.version}"

    def record_types(self) -> Mapping[str, RecordType]:
        """All record types that sources and plugins declare, by name; imports every source.

        Of a plugin that fails at it they are left out here, and it is listed in ``broken``.
        """
        types: dict[str, RecordType] = {}
        for kind in (*self._types_of_sources(), *self._types_of_plugins()):
            types.setdefault(kind.name, kind)
        return dict(sorted(types.items()))

    def _types_of_sources(self) -> Iterator[RecordType]:
        for spec in self.sources.values():
            try:
                yield from map(record_type, self.load(spec).record_types)
            except PluginError as error:
                self._note_broken(self.owner(spec), error)

    def _types_of_plugins(self) -> Iterator[RecordType]:
        for name, plugin in self.plugins.items():
            try:
                with contained():
                    classes = chain(*self._only(RECORD_TYPES, self._pluggy.get_plugin(name))())
                    kinds = [record_type(cls) for cls in classes]
            except Exception as error:  # noqa: BLE001 - a hook is a stranger's code
                self._note_broken(plugin, PluginError(f"{RECORD_TYPES} failed: {error!r}"))
            else:
                yield from kinds

    def _note_broken(self, plugin: Plugin, error: PluginError) -> None:
        self.broken[plugin.name] = _as_broken(plugin, error, error)

    def load(self, spec: Any) -> Any:
        """The class that a declaration names; raises PluginError when it cannot be used."""
        cls = self.load_part(spec, spec.factory, repr(spec.name))
        require_record_types(cls)
        return cls

    def load_app(self, name: str) -> Any:
        """What is behind a declared command; raises PluginError when it cannot be imported."""
        spec = self.find("command", name)
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


def resolve(target: Any) -> Any:
    """The object behind ``module:attribute``, or the target itself when it is none."""
    if not isinstance(target, str):
        return target
    module, _, attribute = target.partition(":")
    with contained():
        return getattr(importlib.import_module(module), attribute)


def _check_api(plugin: Any, distribution: str) -> None:
    """Raise PluginError for a plugin that is written for a plugin API that is not offered."""
    if isinstance(plugin, Objects):
        for each in plugin.api_versions:
            _check_version(each, distribution)
    else:
        _check_version(getattr(plugin, "harvest_api", 1), distribution)


def _check_version(api: Any, distribution: str) -> None:
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


def _check_distinct(kind: str, claim: Claim, other: Claim) -> None:
    """Raise PluginError where a name cannot be left to the user's choice between two plugins."""
    both = (claim.plugin, other.plugin)
    if claim.plugin.distribution == other.plugin.distribution or not all(p.installed for p in both):
        remedy = None
        if not claim.plugin.installed:
            remedy = f"give it another name, or set {DISABLE_VARIABLE}={other.plugin.name}"
        raise PluginError(
            f"{kind[:-1]} {claim.spec.name!r} is already declared by plugin "
            f"{other.plugin.name!r} ({other.plugin.distribution})",
            where=None if claim.plugin.installed else claim.plugin.module,
            remedy=remedy,
        )


def _as_named(point: EntryPoint) -> Plugin:
    """The plugin of an entry point, as yet unseen."""
    if point.dist is None:
        return Plugin(point.name, UNKNOWN, UNKNOWN, point.value)
    metadata = point.dist.metadata  # which is read and parsed each time it is asked for
    return Plugin(point.name, metadata["Name"], metadata["Version"], point.value)


def _as_broken(plugin: Plugin, error: PluginError, cause: BaseException | None) -> BrokenPlugin:
    remedy = error.remedy or f"update {plugin.distribution}"
    origin = (plugin.name, plugin.distribution, plugin.version)
    return BrokenPlugin(*origin, error.message, remedy, cause)


def _names(variable: str, given: str | None) -> tuple[str, ...]:
    """The names that an environment variable holds, or another text instead."""
    text = os.environ.get(variable, "") if given is None else given
    return tuple(name.strip() for name in text.split(",") if name.strip())


def add_plugin(plugin: str | os.PathLike[str] | type[Source] | type[Sink]) -> None:
    """Make a Python file, or a source or sink class, a plugin of this process.

    So that datasets which it wrote can be read, by its views and reports too; ``harvest.run`` does
    it by itself for what it is given.

    >>> harvest.add_plugin("greeting.py")  # doctest: +SKIP
    """
    if isinstance(plugin, type):
        manager().add_class(plugin)
    else:
        manager().add_file(Path(plugin))


def plugins_of(*classes: type[Source] | type[Sink] | object) -> PluginManager:
    """Plugins that are these classes and the core alone, whatever is installed.

    Anything else that is given has hooks, as a plugin's module has.
    For ``harvest.run`` and ``harvest.open``, so that a test or a program depends on no other.

    >>> plugins = harvest.plugins_of(GreetingSource, BoxSink)  # doctest: +SKIP
    >>> harvest.run("greeting:hello.txt", "box:out.box", plugins=plugins)  # doctest: +SKIP
    """
    core = EntryPoint("core", "harvest.builtin.plugin", GROUP)
    plugins = PluginManager([core], disabled="", preferred="")
    for each in classes:
        if isinstance(each, type):
            plugins.add_class(each)
        else:
            name = type(each).__name__
            plugins._add(Plugin(name, UNKNOWN, UNKNOWN, name, installed=False), each)
    return plugins


@cache
def manager() -> PluginManager:
    """The plugins of this process, found once: those installed, and those that it was given.

    >>> harvest.plugins.manager().view("dask.tasks").doc  # doctest: +SKIP
    """
    return PluginManager()


_entry_points = cache(entry_points)
"""What is installed, listed once in a process: help asks for each command of a plugin."""


@cache
def manager_of_commands(name: str | None = None) -> PluginManager:
    """The plugins whose entry points name a command, or any; all, where all are loaded already.

    Of each the module is imported that its entry points name for commands.
    name: the first word of the command.
    """
    if manager.cache_info().currsize:
        return manager()
    plugins = _entry_points().select(group=GROUP)
    modules: dict[EntryPoint, EntryPoint] = {}
    for point in _entry_points().select(group=COMMANDS):
        if name in (None, point.name):
            own = [plugin for plugin in plugins if plugin.dist is point.dist]
            for plugin in [each for each in own if each.value == point.value] or own[:1]:
                known = modules.setdefault(plugin, point)
                if known.value != point.value:  # the plugin has all that its modules have
                    modules[plugin] = plugin
    return PluginManager(modules, modules=modules)
