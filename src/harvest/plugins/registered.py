"""Registered plugins, found by entry point, and the names that they declare.

Plugins are entry points of the group ``harvest``. A plugin that cannot be imported, or needs
another plugin API, is listed as broken with cause and remedy; others are unaffected. Asking for it
by name raises its error.
"""

import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from itertools import chain
from typing import Any

import attrs
import pluggy

from harvest.api.spec import API_VERSION, COMMANDS, GROUP, OLDEST_API_VERSION, Command, Hooks
from harvest.errors import HarvestError, PluginError, UsageError, raised_in, suggestion
from harvest.plugin_code import contained

from .claims import DISABLE_VARIABLE, PREFER_VARIABLE, UNKNOWN, BrokenPlugin, Claim, Claims, Plugin
from .known import CORE, bringing, canonical

HOOKS = tuple(name for name in vars(Hooks) if name.startswith("harvest_"))
"""Names of the hooks that a plugin may implement."""

COMMITTED = "harvest_committed"
"""The hook that is called after a commit."""

RECORD_TYPES = "harvest_record_types"
"""The hook that returns record classes; called only when record types are needed."""

DECLARATIONS = tuple(name for name in HOOKS if name not in (COMMITTED, RECORD_TYPES))
"""Names of the hooks that return declarations."""

loaded: list[Any] = []
"""The manager of all plugins of this process, in a list that is empty until first use."""


class Registered:
    """Registered plugins and their declarations by name: enough for commands."""

    def __init__(
        self,
        points: Iterable[EntryPoint] | None = None,
        disabled: str | None = None,
        preferred: str | None = None,
        *,
        modules: Mapping[EntryPoint, EntryPoint] | None = None,
    ):
        """Register plugins; ``modules`` replaces entry points of plugins by others to import."""
        self._modules = modules or {}
        self._pluggy = pluggy.PluginManager(GROUP)
        self._pluggy.add_hookspecs(Hooks)
        self.claims = Claims(_names(PREFER_VARIABLE, preferred))
        self.plugins: dict[str, Plugin] = {}
        self.broken: dict[str, BrokenPlugin] = {}
        self.disabled = _names(DISABLE_VARIABLE, disabled)
        self._owner: dict[int, Plugin] = {}
        self._remarked: set[str] = set()
        found = entry_points(group=GROUP) if points is None else points
        named = [(_as_named(point), point) for point in sorted(found, key=lambda p: p.name)]
        used = [(p, point) for p, point in named if not self._is_disabled(p)]
        self.left_out = {canonical(p.distribution) for p, _ in named if self._is_disabled(p)}
        for plugin, _ in used:
            self.claims.add("plugins", Claim(plugin, plugin))
        for plugin, point in used:
            self._register(plugin, point)

    def _is_disabled(self, plugin: Plugin) -> bool:
        own = (plugin.name, plugin.distribution, f"{plugin.distribution}:{plugin.name}")
        return any(name in self.disabled for name in own)

    def _register(self, named: Plugin, point: EntryPoint) -> None:
        plugin = named
        if self.claims.all("plugins").get(named.name) != named:  # owned by another
            plugin = attrs.evolve(named, name=f"{named.distribution}:{named.name}")
        try:
            self._add(plugin, self._imported(self._modules.get(point, point), plugin))
        except PluginError as problem:
            self.broken[plugin.name] = as_broken(plugin, problem, problem.__cause__)

    def _imported(self, point: EntryPoint, plugin: Plugin) -> Any:
        try:
            with contained():
                loaded = point.load()
        # no error in a third-party module at import may end the program
        except Exception as error:
            raise PluginError(
                f"importing {point.value} failed: {type(error).__name__}: {error}",
                remedy=f"reinstall or update {plugin.distribution}, or set "
                f"{DISABLE_VARIABLE}={point.name}",
            ) from error
        hooks = self._hooks_of(loaded)
        if hooks is None:
            raise PluginError(
                f"{point.value} is neither a module with hooks nor a Source or Sink class",
                remedy=f"ask the author of {plugin.distribution} to correct its entry point",
            )
        return hooks

    def _hooks_of(self, loaded: Any) -> Any | None:
        """Return the object with hooks behind an entry point's object; None if it has no hooks."""
        return loaded if any(name.startswith("harvest_") for name in dir(loaded)) else None

    def _api_versions(self, hooks: Any) -> tuple[Any, ...]:
        """Return the versions of the plugin API for which a plugin is written."""
        return (getattr(hooks, "harvest_api", 1),)

    def _add(self, plugin: Plugin, hooks: Any) -> None:
        for api in self._api_versions(hooks):
            _check_version(api, plugin.distribution)
        self._check_marks(hooks, plugin.distribution)
        self._call_hooks(plugin, hooks)
        self.plugins[plugin.name] = plugin

    def _check_marks(self, plugin: Any, distribution: str) -> None:
        """Raise PluginError for an unknown hook, and for one without its mark."""
        for hook in (name for name in dir(plugin) if name.startswith("harvest_")):
            marked = self._pluggy.parse_hookimpl_opts(plugin, hook) is not None
            if marked and hook not in HOOKS:
                raise PluginError(f"unknown hook {hook!r}", remedy=suggestion(hook, HOOKS))
            if hook in HOOKS and callable(getattr(plugin, hook)) and not marked:
                remedy = f"ask the author of {distribution} to write @harvest.hookimpl above it"
                raise PluginError(f"{hook} is not marked as a hook", remedy=remedy)

    def _call_hooks(self, plugin: Plugin, hooks: Any) -> None:
        name = plugin.name
        try:
            with contained():
                self._pluggy.register(hooks, name=name)
                self._take_declarations(plugin, hooks)
        except Exception as error:  # a hook is third-party code
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
            for spec in chain.from_iterable(
                _declared(hook, each) for each in self._only(hook, hooks)()
            ):
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
        """Return a caller for one plugin's hook, so that an error in it affects no other."""
        others = [other for other in self._pluggy.get_plugins() if other is not hooks]
        return self._pluggy.subset_hook_caller(hook, others)

    def owner(self, spec: Any) -> Plugin:
        return self._owner[id(spec)]

    def blame(self, error: BaseException) -> str:
        """Say whose defect an error is, which line of a plugin raised it, and what to do."""
        others = [plugin for plugin in self if plugin.distribution != CORE]
        homes = {p.module.partition(".")[0] if p.installed else p.module: p for p in others}
        found = raised_in(error, homes)
        if found is None:
            return "this is a defect: run with --debug and report the traceback"
        plugin, line = homes[found[0]], found[1]
        return (
            f"in {line}, of plugin {plugin.name!r} ({plugin.distribution}): report this to its "
            "author (--debug shows the traceback)"
        )

    def find(self, kind: str, name: str) -> Any:
        """Return the declaration of a name; raise UsageError or PluginError if it cannot be used.

        name: may be qualified by its owner, as ``DISTRIBUTION:NAME`` or ``FILE.py:NAME``.
        """
        owner, _, plain = name.rpartition(":")
        if owner:
            return self.find_of(kind, owner, plain)
        claims = self.claims.of(f"{kind}s", name)
        if claims:
            if len(claims) > 1:
                self._remark(f"{kind}s", name)
            return self.claims.all(f"{kind}s")[name]
        if name in self.broken:
            problem = self.broken[name]
            raise PluginError(
                f"plugin {name!r} cannot be used: {problem.cause}", remedy=problem.remedy
            ) from problem.error
        if name in self.disabled:
            raise UsageError(
                f"{kind} {name!r} is disabled", remedy=f"change {DISABLE_VARIABLE} to use it"
            )
        raise UsageError(
            f"unknown {kind} {name!r}", remedy=self.remedy(name, self.claims.all(f"{kind}s"), kind)
        )

    def _remark(self, kind: str, name: str) -> None:
        """Print the owner of a contested name once; raise UsageError if it has none."""
        contested = self.claims.contest(kind, name)
        if contested.chosen is None:
            raise contested.error()
        text = contested.remark()
        if contested.because != PREFER_VARIABLE and text not in self._remarked:
            self._remarked.add(text)
            print(f"harvest: {text}", file=sys.stderr, flush=True)

    def remedy(self, name: str, known: Iterable[str], *kinds: str) -> str:
        """Say what to do about a name that no plugin declares.

        known: declared names; kinds: what the name may be, such as ``source``, ``record type``.
        """
        for kind in kinds:
            if len(self.claims.of(f"{kind}s", name)) > 1:
                return str(self.claims.contest(f"{kind}s", name).error())
            if missing := self.missing(kind, name):
                return self.how_to_have(missing) + self.unless_disabled()
        return suggestion(name, known)

    def missing(self, kind: str, name: str) -> str | None:
        """Return the project's distribution that brings a name, if it is not in use; else None."""
        in_use = {canonical(plugin.distribution) for plugin in self}
        return bringing(kind, name, in_use - self.left_out)

    def how_to_have(self, distribution: str) -> str:
        """Say how to get a plugin that is not in use: a distribution, a file or a class."""
        for plugin in self.broken.values():
            if canonical(plugin.distribution) == canonical(distribution):
                return f"{plugin.name}: {plugin.cause}; {plugin.remedy}"
        if distribution.endswith(".py"):
            python = f"harvest.add_plugin({distribution!r})"
            return f"name the file, as in harvest --plugin {distribution} or {python}"
        if distribution == "__main__":
            return "give the class to harvest.add_plugin"
        return f"install {distribution}"

    def unless_disabled(self) -> str:
        """Return a hint about disabled plugins; empty if there are none."""
        names = ",".join(self.disabled)
        return f", unless {DISABLE_VARIABLE}={names} leaves it out" if names else ""

    def find_of(self, kind: str, owner: str, name: str | None) -> Any:
        """Return a distribution's declaration of a name; raise UsageError if it has none."""
        offers = {
            each: claim.spec
            for each in self.claims.names(f"{kind}s")
            for claim in self.claims.of(f"{kind}s", each)
            if canonical(claim.plugin.distribution) == canonical(owner)
        }
        if name in offers:
            return offers[name]
        remedy = suggestion(name or "", offers) if offers else "`harvest plugins` lists them"
        raise UsageError(f"the distribution {owner!r} offers no {kind} {name!r}", remedy=remedy)

    def is_distribution(self, name: str) -> bool:
        there = [plugin.distribution for plugin in self.plugins.values()]
        there += [plugin.distribution for plugin in self.broken.values()]
        return canonical(name) in map(canonical, there)

    def __iter__(self) -> Iterator[Plugin]:
        return iter(self.plugins.values())

    @property
    def commands(self) -> Mapping[str, Command]:
        return self.claims.all("commands")

    def load_app(self, name: str) -> Any:
        """Load the app of a declared command; raise PluginError if it cannot be imported."""
        spec = self.find("command", name)
        return self.load_part(spec, spec.app, "the commands")

    def load_part(self, spec: Any, target: Any, what: str) -> Any:
        """Load the ``module:attribute`` of a declaration, or return the object itself."""
        try:
            return resolve(target)
        except (HarvestError, MemoryError):
            raise  # an error of this process, not of the plugin
        except Exception as error:
            plugin = self.owner(spec)
            raise PluginError(
                f"{what} of plugin {plugin.name!r} cannot be imported: "
                f"{type(error).__name__}: {error}",
                remedy=f"reinstall or update {plugin.distribution}, with the extras it needs",
            ) from error


def resolve(target: Any) -> Any:
    """Import the object named ``module:attribute``; return any other target unchanged."""
    if not isinstance(target, str):
        return target
    module, _, attribute = target.partition(":")
    with contained():
        return getattr(importlib.import_module(module), attribute)


def _declared(hook: str, given: Any) -> Iterator[Any]:
    """Yield the declarations that a hook gives; raise TypeError for anything else."""
    if not isinstance(given, Iterable):
        raise TypeError(f"{hook} gives {given!r} instead of a list")
    for spec in given:
        if not isinstance(getattr(spec, "name", None), str):
            raise TypeError(f"{hook} gives {spec!r}, which has no name")
        if isinstance(getattr(spec, "requires", ()), str):
            raise TypeError(f"{spec.name} requires the text {spec.requires!r} instead of a tuple")
        yield spec


def _check_version(api: Any, distribution: str) -> None:
    if type(api) is not int:
        problem = f"it states {api!r} as its plugin API, which is not a whole number"
        raise PluginError(problem, remedy=f"ask the author of {distribution} to correct it")
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
    """Raise PluginError if the user cannot choose between two plugins with the same name."""
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
    """Return the plugin that an entry point names, not yet imported."""
    if point.dist is None:
        return Plugin(point.name, UNKNOWN, UNKNOWN, point.value)
    metadata = point.dist.metadata  # each access reads and parses the metadata again
    return Plugin(point.name, metadata["Name"], metadata["Version"], point.value)


def as_broken(plugin: Plugin, error: PluginError, cause: BaseException | None) -> BrokenPlugin:
    """Build the entry of a plugin that cannot be used."""
    remedy = error.remedy or f"update {plugin.distribution}"
    origin = (plugin.name, plugin.distribution, plugin.version)
    return BrokenPlugin(*origin, error.message, remedy, cause)


def _names(variable: str, given: str | None) -> tuple[str, ...]:
    """Return the comma-separated names in an environment variable, or in ``given`` instead."""
    text = os.environ.get(variable, "") if given is None else given
    return tuple(name.strip() for name in text.split(",") if name.strip())


_entry_points = cache(entry_points)
"""Installed entry points, listed once per process: help needs them for each plugin command."""


def manager_of_commands(name: str | None = None) -> Registered:
    """Return the plugins whose entry points name a command; all, if all are loaded already.

    Imports from each plugin only the module that its entry points name for commands.
    name: first word of the command; None for any.
    """
    return loaded[0] if loaded else _naming(name)


@cache
def _naming(name: str | None) -> Registered:
    plugins = _entry_points().select(group=GROUP)
    modules: dict[EntryPoint, EntryPoint] = {}
    for point in _entry_points().select(group=COMMANDS):
        if name in (None, point.name):
            own = [plugin for plugin in plugins if plugin.dist is point.dist]
            for plugin in [each for each in own if each.value == point.value] or own[:1]:
                known = modules.setdefault(plugin, point)
                if known.value != point.value:  # several modules: import the whole plugin
                    modules[plugin] = plugin
    return Registered(modules, modules=modules)
