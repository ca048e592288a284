"""Harvest in one call (``run``), or in steps: list the inputs, then commit."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from harvest import interrupt
from harvest.api.sink import Sink
from harvest.api.source import Partition, Source
from harvest.errors import SourceError
from harvest.plugin_code import contained
from harvest.plugins.registry import PluginManager, manager
from harvest.reading.through_pipes import partitions_through
from harvest.recipes.choose import name_sources, unread_below
from harvest.recipes.endpoints import Listed, SourceUse, endpoints_of
from harvest.recipes.pipes import COPIES, copied_pipes, with_pipes
from harvest.recipes.recipe import Recipe
from harvest.recipes.selection import Named, Since, partitions_in, partitions_of, selection_of
from harvest.storage.part import part_key
from harvest.storage.staging import STAGING
from harvest.storage.target import Target, manifest_of, new_run_id, storage_errors, writing
from harvest.toolkit.files import passed_over
from harvest.toolkit.texts import printable

from .engine import Engine
from .exporting import announcing, export_all
from .prepare import Observer, PreparedRun, prepare_sinks, prepare_sources
from .progress import display
from .record import last_day
from .result import RunResult
from .runner import carry_out


@attrs.frozen(kw_only=True)
class Listing:
    """The partitions that a session's sources list at one moment.

    failures: sources that could not list their input, each with the error.
    partial: whether there may be more inputs than were looked at.
    remarks: which inputs were looked at, if not all.
    no_files: pipes, sockets and devices in input directories: path -> kind.
    """

    listed: Listed
    uses: Sequence[SourceUse]
    failures: Sequence[tuple[Source, SourceError | OSError]]
    partial: bool
    remarks: Sequence[str]
    states: Sequence[str]
    no_files: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def partitions(self) -> list[Partition]:
        """All listed partitions, source by source."""
        return [partition for _, partition in self.listed]


class Session:
    """A recipe that is ready to run: sources are chosen, and everything is configured.

    It lists the inputs and commits new ones, once or repeatedly. ``harvest.run`` is a session with
    one listing and one commit.

    recipe: the recipe, with a source name for every location.
    choices: remarks about locations that were given without a source.

    >>> session = harvest.Session(harvest.Recipe.load("nightly.toml"))  # doctest: +SKIP
    >>> result = session.commit(session.list())  # doctest: +SKIP

    Raises UsageError for a recipe with an unknown name, and SourceError for a missing location
    without a source name.
    """

    @contained()
    def __init__(self, recipe: Recipe, plugins: PluginManager | None = None):
        self._plugins = plugins or manager()
        with passed_over() as self._no_files:
            self.recipe, choices = name_sources(recipe, self._plugins)
        self.choices = tuple(choices)
        self._uses = prepare_sources(self.recipe, self._plugins)
        self.sinks: Sequence[Sink] = prepare_sinks(self.recipe, self._plugins)
        self._exports: Mapping[str, str | None] = {}

    def check(self) -> None:
        """Raise HarvestError for a problem that would stop a run: a sink or a missing engine."""
        self._check_sinks()
        self._plugins.engine(self.recipe.engine)

    def _check_sinks(self) -> None:
        for sink in self.sinks:
            sink.check()

    def runs(self) -> Sequence[tuple[str, ...]]:
        """Return for each sink the ids of its dataset's runs, the latest last."""
        return [manifest_of(sink).runs for sink in self.sinks]

    def enters(self) -> Callable[[str], bool] | None:
        """Return a function that says whether a run enters a directory; None if it enters all."""
        selection = self._selection()
        return selection.enters if isinstance(selection, Since) else None

    def _selection(self) -> Named | Since | None:
        last = last_day(self._uses, self.sinks) if self.recipe.since_last else None
        return selection_of(self.recipe, last)

    @contained()
    def list(self, files: Iterable[str] | None = None, *, go_on: bool = False) -> Listing:
        """List the partitions of all sources.

        files: absolute paths to look at; by default, all that the recipe looks at. A source that
            cannot list single files lists all.
        go_on: leave out a source that cannot list its input, instead of raising its error.
        Raises SourceError or OSError, and HarvestError for an unusable sink.
        """
        self._check_sinks()
        states = [manifest_of(sink).token for sink in self.sinks]
        selection, named = self._selection(), None if files is None else Named(files)
        listed: Listed = []
        failures: list[tuple[Source, SourceError | OSError]] = []
        with passed_over() as no_files:
            for use in self._uses:
                try:
                    mine = []
                    for partition in _partitions(use, selection, named):
                        interrupt.check()
                        mine.append((use, partition))
                    listed += mine
                except (SourceError, OSError) as error:
                    if not go_on:
                        raise
                    failures.append((use.source, error))
        failed = {id(source) for source, _ in failures}
        return Listing(
            listed=listed,
            uses=[use for use in self._uses if id(use.source) not in failed],
            failures=failures,
            partial=(named or selection) is not None,
            remarks=selection.remarks() if selection is not None and named is None else (),
            states=states,
            no_files={**self._no_files, **no_files},
        )

    def commit(
        self,
        listing: Listing,
        *,
        ready: Callable[[Partition], bool] | None = None,
        force: bool = False,
        wait_s: float = 0,
        observer: Observer | None = None,
    ) -> RunResult:
        """Read the new and changed inputs of a listing and commit them, as a run does.

        ready: says whether a partition may be read now. If not, all partitions of its origin stay
            as they are. Without it, inputs are listed again if another run came first.
        force: also read unchanged inputs.
        wait_s: seconds to wait for another run on a dataset to end.
        Raises HarvestError for every problem that stops the run; then no dataset has changed.
        """
        announced = announcing(self._plugins, self._export)
        with announced as committed, _writing(self.sinks, wait_s) as targets:
            more: dict[str, Any] = {"force": force, "observer": observer, "committed": committed}
            done, _ = self._commit(listing, targets, ready=ready, **more)
        return attrs.evolve(done, exports=self._exports)

    def _export(self) -> Mapping[str, str | None]:
        self._exports = export_all(self.recipe, self.sinks[0], self._plugins)
        return self._exports

    def _commit(
        self,
        listing: Listing,
        targets: Sequence[Target],
        *,
        ready: Callable[[Partition], bool] | None = None,
        **more: Any,
    ) -> tuple[RunResult, Listing]:
        if ready is None and [target.manifest.token for target in targets] != listing.states:
            # after another run, other inputs may be new or gone
            listing = self.list()
        only = None if ready is None else _keys_to_read(listing.listed, ready)
        return carry_out(self._prepared(listing, only=only, **more), targets), listing

    def _prepared(
        self, listing: Listing, *, observer: Observer | None = None, **more: Any
    ) -> PreparedRun:
        return PreparedRun(
            recipe=self.recipe, plugins=self._plugins, uses=self._uses, listed=listing.listed,
            sinks=self.sinks, partial=listing.partial, no_files=listing.no_files,
            observer=observer or Observer(), **more,
        )  # fmt: skip

    def _describe(self, listing: Listing, *, force: bool, observer: Observer | None) -> RunResult:
        """Describe what a commit would do; raise as ``commit`` does."""
        prepared = self._prepared(listing, force=force, observer=observer)
        plan = prepared.plan([manifest_of(sink) for sink in self.sinks], new_run_id())
        engine = prepared.engine()
        scripts: Sequence[str] = ()
        if type(engine).scripts is not Engine.scripts:  # scripts need all tasks
            scripts = engine.scripts(prepared.work(plan, plan.to_read))
        return RunResult(
            run=None,
            plan=plan,
            parts=(),
            dry=True,
            no_files=listing.no_files,
            scripts=tuple(scripts),
            datasets=tuple(str(sink.location) for sink in self.sinks),
        )


def _partitions(
    use: SourceUse, selection: Named | Since | None, named: Named | None
) -> Iterable[Partition]:
    """List a source's partitions: of a pipe always all, else of the files in ``named``, or all."""
    if use.pipe is not None:
        return partitions_through(use.source, use.pipe)
    found = None if named is None else partitions_in(use.source, named)
    return partitions_of(use.source, selection) if found is None else found


def _keys_to_read(
    listed: Listed, ready: Callable[[Partition], bool]
) -> Mapping[str, tuple[str, str]]:
    places = [(use.source.name, printable(partition.origin)) for use, partition in listed]
    waiting = {
        place for place, (_, partition) in zip(places, listed, strict=True) if not ready(partition)
    }
    return {
        part_key(use.source.name, partition): place
        for place, (use, partition) in zip(places, listed, strict=True)
        if place not in waiting
    }


@contained()
def execute(
    recipe: Recipe,
    plugins: PluginManager,
    *,
    force: bool = False,
    dry_run: bool = False,
    wait_s: float = 0,
    observer: Observer | None = None,
) -> RunResult:
    """Carry out a recipe.

    wait_s: seconds to wait for another run on a dataset to end.
    Raises UsageError for a recipe with an unknown name. Raises HarvestError for every problem that
    stops the run; then no dataset has changed.
    """
    recipe = with_pipes(recipe)
    announced = announcing(plugins, lambda: {} if dry_run else session._export())
    with announced as committed, contextlib.ExitStack() as stack:
        targets: Sequence[Target] = ()
        if not dry_run and any(endpoint.pipe is not None for endpoint in recipe.sources):
            copying = _with_copies(recipe, plugins, wait_s, observer or Observer())
            targets, recipe = stack.enter_context(copying)
        session = Session(recipe, plugins)
        if targets:
            session.sinks = [target.sink for target in targets]
        listing = session.list()
        if dry_run:
            done = session._describe(listing, force=force, observer=observer)
        else:
            targets = targets or stack.enter_context(_writing(session.sinks, wait_s))
            more: dict[str, Any] = {"force": force, "observer": observer, "committed": committed}
            done, listing = session._commit(listing, targets, **more)
    choices = [*session.choices, *done.choices, *listing.remarks]
    if not listing.partial:
        if recipe.since_last:
            choices = [*choices, "no earlier run of these sources: all inputs are read"]
        choices = [*choices, *unread_below(listing.listed)]
    return attrs.evolve(done, choices=tuple(choices), exports=session._exports)


@contextlib.contextmanager
def _with_copies(
    recipe: Recipe, plugins: PluginManager, wait_s: float, observer: Observer
) -> Iterator[tuple[list[Target], Recipe]]:
    """Yield the locked datasets, and the recipe with a file for each of its pipes.

    A pipe can be read only once, so everything else is checked before.
    """
    known = tuple(each for each in recipe.sources if each.name or each.plugin)
    uses = prepare_sources(attrs.evolve(recipe, sources=known), plugins) if known else []
    sinks = prepare_sinks(recipe, plugins)
    for sink in sinks:
        sink.check()
    with _writing(sinks, wait_s) as targets:
        directory = sinks[0].state / STAGING / COPIES
        live = [each for each, use in zip(known, uses, strict=True) if use.source.reads_live]
        here = live if any(sink.streams for sink in sinks) else None
        with contextlib.ExitStack() as stack:
            with storage_errors(str(directory)):
                copies = copied_pipes(recipe, directory, observer.copying, live=here)
                read = stack.enter_context(copies)
            yield targets, read


@contextlib.contextmanager
def _writing(sinks: Iterable[Sink], wait_s: float) -> Iterator[list[Target]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(writing(sink, wait_s=wait_s)) for sink in sinks]


def run(
    sources: str | Source | Iterable[str | Source] = (),
    sinks: str | Sink | Iterable[str | Sink] = (),
    *,
    recipe: Any = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    engine: str | None = None,
    workers: int | None = None,
    on_error: str | None = None,
    max_rejects: int | None = None,
    limit: int | None = None,
    deleted: str | None = None,
    keep_runs: int | None = None,
    schema_drift: str | None = None,
    since: str | None = None,
    changed: str | None = None,
    force: bool = False,
    dry_run: bool = False,
    wait_s: float = 0,
    progress: bool | None = None,
    observer: Observer | None = None,
    plugins: PluginManager | None = None,
) -> RunResult:
    """Harvest sources into sinks, as ``harvest run`` does.

    sources, sinks: one or several ``NAME:LOCATION``. A location without a name is read by every
        source that recognises files there; ``choices`` of the result names them.
        ``FILE.py:LOCATION`` is the source or sink of a Python file. You can also give an object:
        ``GreetingSource("hello.txt")``.
    recipe: path of a TOML recipe, or a Recipe; the other arguments override it.
    settings: plugin name -> key -> value.
    since, changed: read only inputs of recent days, or those in a list.
    schema_drift: evolve, freeze or reject, when columns differ from the dataset's.
    progress: True shows a bar on a terminal or in a notebook, otherwise a line on standard error at
        intervals. None shows progress only on a terminal or in a notebook.
    observer: receives the progress instead, to show or record it in your own way.

    >>> result = harvest.run("mofka-dask:runs/R1", "parquet:out")  # doctest: +SKIP
    >>> result.account.written  # doctest: +SKIP
    1822

    Raises HarvestError (UsageError, SourceError, TooManyRejects, ...) when the run is stopped; then
    no dataset has changed.
    """
    plugins = plugins or manager()
    base = Recipe() if recipe is None else recipe
    if not isinstance(base, Recipe):
        base = Recipe.load(base)
    merged = base.merged(
        sources=endpoints_of(sources, "source", plugins),
        sinks=endpoints_of(sinks, "sink", plugins), settings=settings, engine=engine,
        workers=workers, on_error=on_error, max_rejects=max_rejects, limit=limit,
        deleted=deleted, keep_runs=keep_runs, schema_drift=schema_drift, since=since,
        changed=changed,
    )  # fmt: skip
    with display(progress if observer is None else False) as shown:
        return execute(
            merged, plugins, force=force, dry_run=dry_run, wait_s=wait_s, observer=observer or shown
        )
