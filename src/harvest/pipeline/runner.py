"""A whole run: plan, read and stage, commit, account."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

import attrs

from harvest import interrupt
from harvest.api.sink import Sink
from harvest.errors import PluginError, SourceError, TooManyRejects
from harvest.plugin_code import contained
from harvest.plugins.registry import PluginManager
from harvest.storage.commit import Commit, drop_staged
from harvest.storage.part import Part
from harvest.storage.rejects import read_rejects
from harvest.storage.staging import STAGING, Staged, clear_places
from harvest.storage.target import Target, manifest_of, new_run_id, storage_errors, writing

from .bundle import staged_of
from .bundling import harvest_partitions, prepare_tasks
from .choose import name_sources, unread_below
from .committed import announcing
from .engine import Engine
from .last import last_day
from .plan import Listed, Plan, Planned, SourceUse, list_partitions
from .prepare import Observer, PreparedRun, prepare_sinks, prepare_sources
from .recipe import Recipe
from .record import describe_run
from .result import RunResult, Unchanged
from .selection import Selection, selection_of
from .spooling import SPOOL, replaced_through, spooled, with_pipes

__all__ = ["carry_out", "execute"]


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

    wait_s: how long to wait for another run on a dataset to end.
    Raises UsageError for a recipe that names what is not there, HarvestError for everything that
    stops the run; then no dataset has changed.
    """
    observer = observer or Observer()
    recipe = with_pipes(recipe)
    with announcing(plugins) as committed, contextlib.ExitStack() as stack:
        targets: list[Target] = []
        if not dry_run and any(endpoint.pipe is not None for endpoint in recipe.sources):
            spooling = _spooled(recipe, plugins, wait_s, observer)
            targets, recipe = stack.enter_context(spooling)
        recipe, choices = name_sources(recipe, plugins)
        uses = prepare_sources(recipe, plugins)
        sinks = [target.sink for target in targets] or _prepare_sinks(recipe, plugins)
        tokens = [manifest_of(sink).token for sink in sinks]
        selection, listed = _list(recipe, uses, sinks)
        prepared = PreparedRun(
            recipe=recipe,
            plugins=plugins,
            uses=uses,
            listed=listed,
            sinks=sinks,
            partial=selection is not None,
            force=force,
            wait_s=wait_s,
            observer=observer,
            committed=committed,
        )
        if dry_run:
            done = _describe(prepared)
        else:
            targets = targets or stack.enter_context(_writing(sinks, wait_s))
            if [target.manifest.token for target in targets] != tokens:
                # another was first: by what it has read, other inputs may be new, or gone
                selection, listed = _list(recipe, uses, sinks)
                prepared = attrs.evolve(prepared, listed=listed, partial=selection is not None)
            done = carry_out(prepared, targets)
    choices = [*choices, *done.choices]
    if selection is not None:
        choices = [*choices, *selection.remarks()]
    else:
        if recipe.since_last:
            choices = [*choices, "no earlier run of these sources: all is looked at"]
        choices = [*choices, *unread_below(listed)]
    return attrs.evolve(done, choices=tuple(choices))


def _prepare_sinks(recipe: Recipe, plugins: PluginManager) -> list[Sink]:
    sinks = prepare_sinks(recipe, plugins)
    for sink in sinks:
        sink.check()
    return sinks


@contextlib.contextmanager
def _spooled(
    recipe: Recipe, plugins: PluginManager, wait_s: float, observer: Observer
) -> Iterator[tuple[list[Target], Recipe]]:
    """The datasets, locked, and the recipe with a file for each of its pipes.

    A pipe is read once, so all else that can be refused is refused before.
    """
    known = tuple(each for each in recipe.sources if each.name or each.plugin)
    if known:
        prepare_sources(attrs.evolve(recipe, sources=known), plugins)
    sinks = _prepare_sinks(recipe, plugins)
    with _writing(sinks, wait_s) as targets:
        directory = sinks[0].state / STAGING / SPOOL
        with contextlib.ExitStack() as stack:
            with storage_errors(str(directory)):
                read = stack.enter_context(spooled(recipe, directory, observer.spooled))
            yield targets, read


def _list(
    recipe: Recipe, uses: Sequence[SourceUse], sinks: Sequence[Sink]
) -> tuple[Selection | None, Listed]:
    """What there is to read, and how that was chosen; None: all of it."""
    selection = selection_of(recipe, last_day(uses, sinks) if recipe.since_last else None)
    return selection, list_partitions(uses, selection)


def _describe(prepared: PreparedRun) -> RunResult:
    """What a run would do; raises as :func:`execute`."""
    plan = prepared.plan([manifest_of(sink) for sink in prepared.sinks], new_run_id())
    engine = prepared.engine()
    scripts: Sequence[str] = ()
    if type(engine).scripts is not Engine.scripts:  # which needs all tasks, of many inputs many
        scripts = engine.scripts(prepared.work(plan, plan.to_read))
    return RunResult(
        run=None,
        plan=plan,
        parts=(),
        skipped=Unchanged(),
        dry=True,
        scripts=tuple(scripts),
        datasets=_locations(prepared.sinks),
    )


@contained()
def carry_out(prepared: PreparedRun, targets: Sequence[Target] = ()) -> RunResult:
    """Read, stage and commit; raises as :func:`execute`.

    targets: the datasets, where the caller has locked them.
    """
    if not targets:
        with announcing(prepared.plugins) as committed:
            prepared = attrs.evolve(prepared, committed=committed)
            with _writing(prepared.sinks, prepared.wait_s) as targets:
                return carry_out(prepared, targets)
    run = new_run_id()
    plan = prepared.plan([target.manifest for target in targets], run)
    execution = _Execution(prepared, targets, plan, run)
    places = " or ".join(str(sink.location) for sink in prepared.sinks)
    with storage_errors(places, execution.standing):
        return execution.carry_out()


@contextlib.contextmanager
def _writing(sinks: Iterable[Sink], wait_s: float) -> Iterator[list[Target]]:
    """The datasets of a run, locked."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(writing(sink, wait_s=wait_s)) for sink in sinks]


def _locations(sinks: Sequence[Sink]) -> tuple[str, ...]:
    return tuple(str(sink.location) for sink in sinks)


def _of_run(run: str, staged: Staged) -> Staged:
    """Staged work as a run commits it, which an earlier one may have staged."""
    part = staged.part
    if part.run == run and not part.frozen:
        return staged
    return Staged(attrs.evolve(part, run=run, frozen={}), staged.directory)


class _Execution:
    """Reading, staging and committing one plan."""

    def __init__(self, prepared: PreparedRun, targets: Sequence[Target], plan: Plan, run: str):
        self.prepared = prepared
        self.recipe = prepared.recipe
        self.targets = targets
        self.sinks = [target.sink for target in targets]
        self.manifests = [target.manifest for target in targets]
        self.plan = plan
        self.run = run
        self.observer = prepared.observer
        self.started = datetime.now(UTC)
        self.committed: list[Sink] = []
        # per sink, by key
        self.staged: list[dict[str, Staged]] = [{} for _ in targets]

    def carry_out(self) -> RunResult:
        try:
            return self._carry_out()
        except BaseException:
            for target in self.targets:
                target.drop_unfinished()
            raise

    def _carry_out(self) -> RunResult:
        self._take_staged()
        self._read()
        parts = self._one_per_partition()
        self._refuse(parts)
        piped = any(use.pipe is not None for use in self.prepared.uses)
        choices = replaced_through(self.plan, self.manifests) if piped else ()
        try:
            for number in range(len(self.sinks)):
                interrupt.check()
                self._commit(number, parts)
        finally:
            result = self._result(parts, choices)
            for sink in self.committed:
                self.prepared.committed(sink, result)
        return result

    def _result(self, parts: Mapping[str, Part], choices: Iterable[str]) -> RunResult:
        left = [p for p in self.plan.partitions if p.held_by and p.key not in parts]
        return RunResult(
            run=self.run if self.committed else None,
            plan=self.plan,
            parts=tuple(parts.values()),
            skipped=Unchanged(self.plan, left, self.manifests),
            dropped=self._dropped_parts(),
            choices=tuple(choices),
            datasets=_locations(self.sinks),
        )

    def _commit(self, number: int, parts: Mapping[str, Part]) -> None:
        """Put the work for one sink in force."""
        sink, manifest = self.sinks[number], self.manifests[number]
        staged = {key: _of_run(self.run, each) for key, each in self.staged[number].items()}
        gone = self.plan.gone(number)
        if not (staged or gone):
            drop_staged(sink.state, manifest)
            return
        if self.recipe.keep_runs is not None:
            manifest = attrs.evolve(manifest, keep_runs=self.recipe.keep_runs)
        commit = Commit(
            sink,
            manifest,
            staged=staged,
            replaced=gone,
            run=self.run,
            record=self._record(sink, parts, number),
            schemas=self.prepared.drift.schemas(
                self.plan,
                number,
                manifest,
                [each.part for each in staged.values()],
                self.prepared.plugins,
            ),
            check_old=self.prepared.check_old,
        )
        try:
            self.targets[number].commit(commit, lambda: self.committed.append(sink))
        except PluginError as error:
            error.remedy = f"report this to the plugin's author; {self.standing()}"
            raise

    def _dropped_parts(self) -> tuple[Part, ...]:
        """Parts that left some dataset because their input is gone, each once."""
        found: dict[str, Part] = {}
        for manifest, keys in zip(self.manifests, self.plan.dropped, strict=True):
            found.update(manifest.parts.pick(keys))
        return tuple(sorted(found.values(), key=lambda part: part.order))

    def standing(self) -> str:
        """What a run that cannot go on has already put in force."""
        if not self.committed:
            return "nothing of this run was committed"
        if len(self.committed) == len(self.sinks):
            return "everything was committed; the next run removes what is left of the old state"
        done = ", ".join(str(sink.location) for sink in self.committed)
        return f"it was committed to {done} alone; run again to complete the others"

    def _take_staged(self) -> None:
        """Use what an earlier run staged before it was cut short."""
        for planned in self.plan.partitions:
            for number, staged in planned.staged_for.items():
                self.staged[number][planned.key] = staged

    def _read(self) -> None:
        todo = self.plan.to_read
        if not todo:
            return
        for number, sink in enumerate(self.sinks):
            clear_places(
                sink.state,
                (p.key for p in todo if number in p.read_for),
                keep={staged.directory for staged in self.staged[number].values()},
            )
        numbers = {p.key: p.read_for for p in todo}
        with contextlib.closing(self._results(todo)) as results:
            rejected = sum(one.part.rejected for each in self.staged for one in each.values())
            for staged in results:
                part = staged[0].part
                if part.key not in numbers:  # an attempt that was given up for lost, too
                    continue
                for number, one in zip(numbers.pop(part.key), staged, strict=True):
                    self.staged[number][part.key] = one
                self.observer.finished(part)
                interrupt.check()
                rejected += part.rejected
                self._check_rejects(rejected)
        if numbers and self.recipe.limit is None:
            raise PluginError(
                f"the engine {self.recipe.engine!r} gave no result for {len(numbers)} of "
                f"{len(todo)} partitions",
                remedy="report this to the engine's author; nothing of this run was committed",
            )

    def _results(self, todo: Sequence[Planned]) -> Generator[tuple[Staged, ...], None, None]:
        if self.recipe.limit is not None:
            yield from self._read_limited(todo, self.recipe.limit)
            return
        engine = self.prepared.engine()
        yield from staged_of(engine.run(self.prepared.work(self.plan, todo)), engine.name)

    def _read_limited(
        self, todo: Sequence[Planned], limit: int
    ) -> Generator[tuple[Staged, ...], None, None]:
        """The first rows of each source, in the dataset's order, in this process."""
        left: dict[str, int] = {}
        for planned in todo:
            source = planned.use.source.name
            rows = left.setdefault(source, limit)
            if rows <= 0:
                continue
            task = attrs.evolve(self.prepared.task(self.plan, planned), limit=rows)
            (staged,) = harvest_partitions(prepare_tasks((task,)), self.observer.progressed)
            left[source] -= staged[0].part.written
            yield staged

    def _check_rejects(self, rejected: int) -> None:
        most = self.recipe.max_rejects
        if most is not None and rejected > most:
            raise TooManyRejects(
                f"{rejected} rejects, more than the {most} allowed",
                remedy="look at the input, or raise --max-rejects; nothing was committed",
            )

    def _one_per_partition(self) -> dict[str, Part]:
        parts: dict[str, Part] = {}
        for staged in self.staged:
            for key, each in staged.items():
                parts.setdefault(key, each.part)
        return dict(sorted(parts.items(), key=lambda item: item[1].order))

    def _refuse(self, parts: Mapping[str, Part]) -> None:
        """Stop before the commit when the run is not what the user can have wanted."""
        self._check_rejects(sum(part.rejected for part in parts.values()))
        failed = [part for part in parts.values() if part.failed]
        if failed and len(failed) == self.plan.count and not self.prepared.partial:
            first = failed[0]
            reason = self._reason(first)
            others = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
            raise SourceError(
                f"{reason}{others}",
                where=first.origin,
                remedy="nothing could be read, nothing was committed",
            )

    def _reason(self, part: Part) -> str:
        for staged in self.staged:
            if part.key in staged and part.rejects is not None:
                path = staged[part.key].directory / part.rejects.path
                for row in read_rejects([path]):
                    return str(row["reason"])
        return "cannot be read"

    def _record(self, sink: Sink, parts: Mapping[str, Part], number: int) -> bytes:
        return describe_run(
            run=self.run,
            action=self.prepared.action,
            started=self.started,
            recipe=self.recipe,
            sink=sink,
            uses=self.prepared.uses,
            parts=parts.values(),
            replaced=len(self.plan.replaced[number]),
            dropped=len(self.plan.dropped[number]),
            force=self.prepared.force,
        )
