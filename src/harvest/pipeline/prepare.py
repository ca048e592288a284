"""Build configured sources, sinks and engine from a recipe."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import attrs

from harvest import fault
from harvest.api.settings import structure
from harvest.api.sink import Sink
from harvest.api.source import Source
from harvest.errors import ConfigError, UsageError
from harvest.plugins.registry import PluginManager
from harvest.reading.bundle import Bundle, Bundles, bundles, cost_bytes
from harvest.reading.task import Progress, Task
from harvest.recipes.endpoints import Listed, SourceUse, bind, own_settings
from harvest.recipes.recipe import Endpoint, Recipe
from harvest.storage.manifest import Manifest
from harvest.storage.part import Part
from harvest.storage.target import new_run_id
from harvest.toolkit.texts import printable, printable_line

from .deciding import Planned
from .drift import Drift, declared_kinds
from .engine import Engine, Work
from .exporting import check_exports
from .plan import Plan, make_plan
from .result import RunResult


def prepare_sources(recipe: Recipe, plugins: PluginManager) -> list[SourceUse]:
    """Build the recipe's sources; ``name_sources`` has given each a name."""
    if not recipe.sources:
        raise UsageError("no source given", remedy="name one with --source NAME:LOCATION")
    recipe = bind(recipe, plugins)
    _check_setting_names(recipe, plugins)
    uses = [_source(endpoint, recipe, plugins) for endpoint in recipe.sources]
    versions: dict[str, str] = {}
    for use in uses:
        name = use.source.name
        if versions.setdefault(name, use.version) != use.version:
            problem = f"source {name!r} of both {versions[name]} and {use.version}"
            raise UsageError(problem, remedy="run each into a dataset of its own")
    return uses


def _source(endpoint: Endpoint, recipe: Recipe, plugins: PluginManager) -> SourceUse:
    name, pipe = str(endpoint.name), endpoint.pipe
    if endpoint.made is not None:
        return attrs.evolve(_use_of_object(endpoint, plugins), pipe=pipe)
    cls = plugins.source(endpoint.reference)
    others = [plugins.engine(name)] if recipe.engine == name else []
    settings = _settings_of(name, recipe, cls, others)
    config: Any = structure(cls.Config, settings, plugin=name)
    if not endpoint.location:
        raise UsageError(f"source {name!r} needs a location", remedy=f"write {name}:LOCATION")
    return SourceUse(
        source=cls(endpoint.place, config),
        settings=settings,
        version=plugins.version_of(plugins.find("source", endpoint.reference)),
        plugin=endpoint.plugin,
        pipe=pipe,
    )


def _use_of_object(endpoint: Endpoint, plugins: PluginManager) -> SourceUse:
    source: Source = endpoint.made
    if (place := endpoint.place) != endpoint.location:
        source = copy.copy(source)
        source.location = place
    # other attributes may influence the output, so they count as settings
    more = {k: v for k, v in vars(source).items() if k not in ("location", "config")}
    owner = plugins.owner(plugins.add_class(type(source)))
    return SourceUse(
        source=source,
        settings={**more, **own_settings(source)},
        # code without a file or version may have changed: each run reads again
        version=f"{owner.distribution} {owner.version or new_run_id()}",
    )


def _settings_of(
    name: str,
    recipe: Recipe,
    cls: type[Source] | type[Engine],
    others: Iterable[type[Source] | type[Engine]],
) -> dict[str, Any]:
    """Return the settings of a source or engine, without those of others with the same name."""
    own = {field.name for field in attrs.fields(cls.Config)}
    theirs = {field.name for other in others for field in attrs.fields(other.Config)} - own
    return {
        key: value
        for key, value in recipe.settings.get(name, {}).items()
        if key.replace("-", "_").partition(".")[0] not in theirs
    }


def prepare_sinks(recipe: Recipe, plugins: PluginManager) -> list[Sink]:
    """Build the recipe's sinks. Raises UsageError for an unusable sink or export."""
    if not recipe.sinks:
        raise UsageError("no sink given", remedy="name one with --sink NAME:LOCATION")
    sinks: list[Sink] = []
    recipe = bind(recipe, plugins)
    check_exports(recipe, plugins)
    for endpoint in recipe.sinks:
        sink = endpoint.made if endpoint.made is not None else _sink(endpoint, recipe, plugins)
        for other in sinks:
            if other.state == sink.state:
                raise UsageError("two sinks write to one place", where=str(sink.location))
        sinks.append(sink)
    if any(sink.streams for sink in sinks):
        _check_stream(recipe, sinks)
    return sinks


def _check_stream(recipe: Recipe, sinks: Sequence[Sink]) -> None:
    """Raise UsageError for options that have no effect if no dataset is written."""
    usual = Recipe(workers=1 if recipe.workers == 1 else None)
    names = ("engine", "workers", "deleted", "keep_runs", "schema_drift", "export")
    given = [n.replace("_", "-") for n in names if getattr(recipe, n) != getattr(usual, n)]
    given += ["second sink"] * (len(sinks) > 1) + ["last run"] * recipe.since_last
    if given:
        raise UsageError(
            "this sink writes rows as they are read and keeps nothing: for it "
            f"there is no {' and no '.join(given)}",
            where=printable_line(str(next(sink.location for sink in sinks if sink.streams))),
            remedy="leave that out, or write a dataset",
        )


def _sink(endpoint: Endpoint, recipe: Recipe, plugins: PluginManager) -> Sink:
    name = endpoint.name or _sink_by_suffix(endpoint.location, plugins)
    cls = plugins.sink(endpoint.reference if endpoint.name else name)
    if not endpoint.location:
        raise UsageError(f"sink {name!r} needs a location", remedy=f"write {name}:LOCATION")
    settings = structure(cls.Config, recipe.settings.get(name, {}), plugin=name)
    return cls(endpoint.location, settings)


def _sink_by_suffix(location: str, plugins: PluginManager) -> str:
    for spec in plugins.sinks.values():
        if any(location.endswith(suffix) for suffix in spec.suffixes):
            return spec.name
    problem = "no sink writes to such a location"
    remedy = "write NAME:LOCATION; sinks: " + ", ".join(plugins.sinks)
    raise UsageError(problem, where=printable_line(location), remedy=remedy)


def _check_setting_names(recipe: Recipe, plugins: PluginManager) -> None:
    known = {*plugins.sources, *plugins.sinks, *plugins.engines, *plugins.exporters}
    known |= set(plugins.listeners())
    for name in recipe.settings:
        if name not in known:
            raise ConfigError(
                f"settings are given for {name!r}, which is not a source, sink, engine or exporter",
                remedy=plugins.remedy(name, known, "source", "sink", "exporter"),
            )


class Observer:
    """Receiver of a run's progress; a display overrides the methods that it needs."""

    def copying(self, pipe: str, size_bytes: int) -> None:
        """Report bytes read from a pipe so far; called before the plan and during waits."""

    def planned(self, plan: Plan, size_bytes: int) -> None:
        """Report the finished plan and the number of bytes to read."""

    def progressed(self, progress: Progress) -> None:
        """Report progress within a partition."""

    def finished(self, part: Part) -> None:
        """Report a partition that is read and staged."""


@attrs.frozen(kw_only=True)
class PreparedRun:
    """A run that is ready to start: its work, sources and sinks.

    listed: the partitions that the sources list; partial: whether there may be others.
    no_files: pipes, sockets and devices next to them: path -> kind.
    force: also read unchanged inputs; only: keys of those to read, each with its source and origin,
        None for all; drop: keys of parts that leave the datasets in any case.
    action: name of the action in the run's record.
    check_old: whether files of the previous state may be damaged.
    committed: called for each changed dataset when the run has ended.
    """

    recipe: Recipe
    plugins: PluginManager
    uses: Sequence[SourceUse]
    listed: Listed
    sinks: Sequence[Sink]
    partial: bool = False
    no_files: Mapping[str, str] = attrs.field(factory=dict)
    force: bool = False
    only: Mapping[str, tuple[str, str]] | None = None
    drop: frozenset[str] = frozenset()
    action: str = "run"
    check_old: bool = False
    committed: Callable[[Sink, RunResult], object] = lambda sink, result: None
    observer: Observer = attrs.field(factory=Observer)

    @property
    def drift(self) -> Drift:
        return Drift(
            policy=self.recipe.schema_drift,
            kinds=declared_kinds(use.source for use in self.uses),
            limited=self.recipe.limit is not None,
        )

    def plan(self, manifests: Sequence[Manifest], run: str) -> Plan:
        plan, drift = make_plan(self, manifests, run), self.drift
        for number, (sink, manifest) in enumerate(zip(self.sinks, manifests, strict=True)):
            drift.check(plan, number, manifest, where=printable(sink.location))
        fault.point("run.planned")
        self.observer.planned(plan, sum(p.partition.size_bytes for p in plan.to_read))
        return plan

    def engine(self) -> Engine:
        """Build the engine that the recipe names, with its settings."""
        recipe, name = self.recipe, self.recipe.engine
        cls: type[Engine] = self.plugins.engine(name)
        sources = [type(use.source) for use in self.uses if use.source.name == name]
        workers = 1 if any(sink.streams for sink in self.sinks) else recipe.workers
        return cls(workers=workers, **_settings_of(name, recipe, cls, sources))

    def work(self, plan: Plan, todo: Sequence[Planned]) -> Work:
        numbers = sorted({number for planned in todo for number in planned.read_for})
        together = list(bundles(todo, attrgetter("read_for")))
        engine = self.plugins.owner(self.plugins.find("engine", self.recipe.engine))
        return Work(
            bundles=Bundles(
                together, lambda some: Bundle(tuple(self.task(plan, planned) for planned in some))
            ),
            partitions=len(todo),
            cost_bytes=sum(cost_bytes(planned.partition) for planned in todo),
            on_progress=self.observer.progressed,
            run=todo[0].run if todo else "",
            sources=list({id(each.use): each.use.source for each in todo}.values()),
            sinks=[self.sinks[number] for number in numbers],
            versions=engine.versions,
            recipe=attrs.evolve(self.recipe, settings=self._settings_left()),
        )

    def _settings_left(self) -> dict[str, Mapping[str, Any]]:
        recipe, name = self.recipe, self.recipe.engine
        left = {key: values for key, values in recipe.settings.items() if key != name}
        for source in (use.source for use in self.uses if use.source.name == name):
            left[name] = _settings_of(name, recipe, type(source), [self.plugins.engine(name)])
        return left

    def task(self, plan: Plan, planned: Planned) -> Task:
        part, frozen = planned.part, plan.frozen
        return Task(
            source=planned.use.source,
            partition=planned.partition,
            targets=tuple(
                (self.sinks[n], attrs.evolve(part, frozen=dict(frozen[n])) if frozen[n] else part)
                for n in planned.read_for
            ),
            on_error=self.recipe.on_error,
            max_rejects=self.recipe.max_rejects,
        )
