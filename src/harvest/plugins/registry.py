"""Find plugins (installed ones, files and classes) and look up what they declare."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint
from itertools import chain
from pathlib import Path
from typing import Any

from harvest.api.from_file import load_file, loaded_file
from harvest.api.rule import Rule
from harvest.api.sink import Sink
from harvest.api.source import Source
from harvest.api.spec import GROUP, EngineSpec, ExporterSpec, ReportSpec, SinkSpec, SourceSpec
from harvest.api.view import View
from harvest.errors import HarvestError, PluginError, UsageError
from harvest.model import RecordType, record_type
from harvest.plugin_code import contained

from .claims import UNKNOWN, Plugin
from .given import Objects, of_module, plugin_of_class, require_record_types, unfinished
from .known import KNOWN, Known, canonical
from .registered import COMMITTED, RECORD_TYPES, Registered, as_broken, loaded


def _declared(kind: str) -> Any:
    """Build a property for all declarations of one kind, by name."""
    return property(lambda plugins: plugins.claims.all(kind))


class PluginManager(Registered):
    """The plugins of this environment, and everything they declare, by name.

    ``sources``, ``sinks``, ``views``, ``reports``, ``rules``, ``exporters``, ``engines`` and
    ``commands``: the declarations of each kind.
    """

    def _hooks_of(self, loaded: Any) -> Any | None:
        if isinstance(loaded, type):
            return Objects([loaded]) if issubclass(loaded, (Source, Sink)) else None
        return super()._hooks_of(loaded)

    def _api_versions(self, hooks: Any) -> tuple[Any, ...]:
        return hooks.api_versions if isinstance(hooks, Objects) else super()._api_versions(hooks)

    def published(self) -> list[tuple[Known, str | None]]:
        """Return the plugins that the project publishes, each with its installed version."""
        found = (*self.broken.values(), *self)
        there = {canonical(each.distribution): each.version for each in found}
        return [(known, there.get(known.distribution)) for known in KNOWN]

    def listeners(self) -> list[str]:
        """Return the names of plugins with the hook ``harvest_committed``."""
        hook = getattr(self._pluggy.hook, COMMITTED)
        return sorted(each.plugin_name for each in hook.get_hookimpls())

    def announce(self, where: str, open_dataset: Callable[[], Any], result: Any) -> list[str]:
        """Call ``harvest_committed`` of each plugin that has it; return a text for each failure."""
        failed = []
        for name in self.listeners():
            listener = self._only(COMMITTED, self._pluggy.get_plugin(name))
            (hook,) = listener.get_hookimpls()
            try:
                dataset = open_dataset() if "dataset" in hook.argnames else None
                with contained():
                    listener(dataset=dataset, result=result, open_dataset=open_dataset)
            except Exception as error:  # noqa: BLE001 - third-party code, any error
                said = str(error)  # for example, that the dataset was damaged meanwhile
                if not isinstance(error, HarvestError):
                    said = f"{type(error).__name__}: {error}; {self.blame(error)}"
                what = f"plugin {name!r} failed to hear of the commit to {where}, which stands"
                failed.append(f"{what}: {said}")
        return failed

    def add_file(self, path: Path) -> Plugin:
        """Register a Python file as a plugin; execute it, unless it is unchanged since.

        Raises UsageError if the file is missing. Raises PluginError if it is not a plugin, or
        declares a name of another plugin.
        """
        module = load_file(path)
        loaded = loaded_file(module)
        plugin = Plugin(path.stem, path.name, loaded.digest, loaded.path, installed=False)
        earlier = self.plugins.get(plugin.name)
        if earlier == plugin:
            return plugin
        if earlier is not None and earlier.module != plugin.module:
            problem = f"a plugin {earlier.name!r} is there already ({earlier.distribution})"
            raise PluginError(problem, where=str(path), remedy="give the file another name")
        if earlier is not None:
            self._remove(earlier)
        self._add(plugin, of_module(module))
        return plugin

    def find_of(self, kind: str, owner: str, name: str | None) -> Any:
        """Return a plugin's declaration of a name; without a name, the only one of this kind.

        owner: a distribution, or the path of a Python file, which is loaded.
        Raises as ``find``, and UsageError if a file declares several and no name is given.
        """
        if owner.endswith(".py"):
            return self._in_file(kind, owner, self.add_file(Path(owner)), name)
        return super().find_of(kind, owner, name)

    def _in_file(self, kind: str, owner: str, plugin: Plugin, name: str | None) -> Any:
        """Return the declaration of a name in a Python file, or the only one of this kind.

        owner: the file's path, as it was given.
        Raises UsageError if the file does not declare the name, or several and none is given.
        """
        specs = [s for s in self.claims.all(f"{kind}s").values() if self.owner(s) == plugin]
        if not specs:
            problem = f"it declares no {kind}{unfinished(load_file(Path(owner)), kind)}"
            remedy = f"define one in it: see harvest plugins new --kind {kind}"
            raise UsageError(problem, where=owner, remedy=remedy)
        chosen = [spec for spec in specs if name in (None, spec.name, _class_name(spec))]
        if len(chosen) == 1:
            return chosen[0]
        several = f"it declares {len(specs)} {kind}s"
        found = several if name is None else f"it has no {kind} {name!r}"
        place = ":LOCATION" if kind in ("source", "sink") else ""
        options = [f"{os.path.relpath(owner)}:{_class_name(spec)}{place}" for spec in specs]
        raise UsageError(found, where=owner, remedy=f"write {' or '.join(options)}")

    def add_class(self, cls: type[Source] | type[Sink]) -> Any:
        """Return the declaration of a class; an undeclared class becomes a plugin by itself.

        A class of a program or notebook replaces an earlier one with the same name.
        Raises PluginError if another plugin declares its name.
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
        """Return the declaration of a class, or None."""
        kind = "sources" if issubclass(cls, Source) else "sinks"
        specs = (claim.spec for claim in self.claims.of(kind, cls.name))
        return next((spec for spec in specs if self.load(spec) is cls), None)

    def _remove(self, plugin: Plugin) -> None:
        self._pluggy.unregister(name=plugin.name)
        self.claims.drop(plugin)
        self._owner = {spec: owner for spec, owner in self._owner.items() if owner != plugin}
        del self.plugins[plugin.name]

    sources: Mapping[str, SourceSpec] = _declared("sources")
    sinks: Mapping[str, SinkSpec] = _declared("sinks")
    views: Mapping[str, View] = _declared("views")
    reports: Mapping[str, ReportSpec] = _declared("reports")
    rules: Mapping[str, Rule] = _declared("rules")
    exporters: Mapping[str, ExporterSpec] = _declared("exporters")
    engines: Mapping[str, EngineSpec] = _declared("engines")

    def source(self, name: str) -> type[Source]:
        """Return the source class with this name; raise UsageError or PluginError."""
        return self.load(self.find("source", name))  # type: ignore[no-any-return]

    def sink(self, name: str) -> type[Sink]:
        """Return the sink class with this name; raise UsageError or PluginError."""
        return self.load(self.find("sink", name))  # type: ignore[no-any-return]

    def engine(self, name: str) -> Any:
        """Return the engine class with this name; raise UsageError or PluginError."""
        return self.load(self.find("engine", name))

    def view(self, name: str) -> View:
        """Return the view with this name; raise UsageError or PluginError."""
        if not self.claims.of("views", name) and self.record_types([name]):
            remedy = f"its rows: harvest query DATASET 'from \"{name}\" limit 20'"
            raise UsageError(f"{name!r} is a record type, not a view", remedy=remedy)
        return self.find("view", name)  # type: ignore[no-any-return]

    def report(self, name: str) -> ReportSpec:
        """Return the report with this name; raise UsageError or PluginError."""
        return self.find("report", name)  # type: ignore[no-any-return]

    def exporter(self, name: str) -> ExporterSpec:
        """Return the exporter with this name; raise UsageError or PluginError."""
        return self.find("exporter", name)  # type: ignore[no-any-return]

    def rule(self, name: str) -> Rule:
        """Return the rule with this name; raise UsageError or PluginError."""
        return self.find("rule", name)  # type: ignore[no-any-return]

    def version_of(self, spec: Any) -> str:
        """Return ``distribution version`` of the plugin that declared ``spec``."""
        plugin = self.owner(spec)
        return f"{plugin.distribution} {plugin.version}"

    def record_types(self, names: Collection[str] | None = None) -> Mapping[str, RecordType]:
        """Return the record types that sources and plugins declare, by name.

        names: only these, if declared; sources that declare to have none of them are not imported.
            None for all.
        A plugin whose record types fail to load is left out and listed in ``broken``.
        """
        types: dict[str, RecordType] = {}
        for kind in chain(self._types_of(self._sources_of(names)), self._types_of_plugins()):
            if names is None or kind.name in names:
                types.setdefault(kind.name, kind)
            if names is not None and len(types) == len(set(names)):
                break
        return dict(sorted(types.items()))

    def record_type_names(self) -> list[str]:
        """Return the names of all record types; import only sources that do not declare them."""
        specs = self.sources.values()
        silent = [spec for spec in specs if spec.record_types is None]
        kinds = chain(self._types_of(silent), self._types_of_plugins())
        return sorted({kind.name for kind in kinds}.union(*(s.record_types or () for s in specs)))

    def _sources_of(self, names: Collection[str] | None) -> list[SourceSpec]:
        """Return the sources that may have these record types, first those that declare them."""
        specs = sorted(self.sources.values(), key=lambda spec: spec.record_types is None)
        if names is None:
            return specs
        return [s for s in specs if s.record_types is None or set(names) & set(s.record_types)]

    def sources_of(self, name: str) -> list[str]:
        """Name the sources that bring a record type; only those that declare none are imported."""
        specs = self._sources_of([name])
        return [
            spec.name
            for spec in specs
            if spec.record_types or any(kind.name == name for kind in self._types_of([spec]))
        ]

    def _types_of(self, specs: Iterable[SourceSpec]) -> Iterator[RecordType]:
        for spec in specs:
            said = spec.record_types
            try:
                kinds = list(map(record_type, self.load(spec).record_types))
                if said is not None and {kind.name for kind in kinds} != set(said):
                    raise PluginError(
                        f"the record types of source {spec.name!r} are other ones than it declares",
                        where=repr(spec.factory),
                        remedy="let its SourceSpec name those of its class",
                    )
            except PluginError as error:
                self._note_broken(self.owner(spec), error)
            else:
                yield from kinds

    def _types_of_plugins(self) -> Iterator[RecordType]:
        for name, plugin in self.plugins.items():
            try:
                with contained():
                    classes = chain(*self._only(RECORD_TYPES, self._pluggy.get_plugin(name))())
                    kinds = [record_type(cls) for cls in classes]
            except Exception as error:  # noqa: BLE001 - a hook is third-party code
                self._note_broken(plugin, PluginError(f"{RECORD_TYPES} failed: {error!r}"))
            else:
                yield from kinds

    def _note_broken(self, plugin: Plugin, error: PluginError) -> None:
        self.broken[plugin.name] = as_broken(plugin, error, error)

    def load(self, spec: Any) -> Any:
        """Load the class that a declaration names; raise PluginError if it cannot be used."""
        cls = self.load_part(spec, spec.factory, repr(spec.name))
        require_record_types(cls)
        return cls


def _class_name(spec: Any) -> str:
    """Return the class name of a source or sink, or else the declared name."""
    factory = getattr(spec, "factory", spec.name)
    return factory.rpartition(":")[2] if isinstance(factory, str) else str(factory.__name__)


def add_plugin(plugin: str | os.PathLike[str] | type[Source] | type[Sink]) -> None:
    """Register a Python file, or a source or sink class, as a plugin of this process.

    Datasets that it wrote can then be read, also with its views and reports. ``harvest.run``
    registers its own arguments.

    >>> harvest.add_plugin("greeting.py")  # doctest: +SKIP
    """
    if isinstance(plugin, type):
        manager().add_class(plugin)
    else:
        manager().add_file(Path(plugin))


def plugins_of(*classes: type[Source] | type[Sink] | object) -> PluginManager:
    """Return a manager with only the core and these classes, whatever is installed.

    Other objects than classes must have hooks, as a plugin's module has. Pass the result to
    ``harvest.run`` and ``harvest.open``, so that a test or program depends on no other plugin.

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


def manager() -> PluginManager:
    """Return the plugins of this process: installed ones, found once, and added ones.

    >>> harvest.plugins.manager().view("dask.tasks").doc  # doctest: +SKIP
    """
    if not loaded:
        loaded.append(PluginManager())
    return loaded[0]  # type: ignore[no-any-return]
