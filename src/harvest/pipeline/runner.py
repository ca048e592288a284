"""Carry out a whole run: plan, read and stage, commit, account."""

import contextlib
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from datetime import UTC, datetime

import attrs

from harvest import interrupt
from harvest.api.sink import Sink
from harvest.errors import PluginError, SourceError, TooManyRejects
from harvest.plugin_code import contained
from harvest.reading.bundle import Bundle, staged_of
from harvest.storage.commit import Commit, tidy
from harvest.storage.manifest import Manifest
from harvest.storage.part import Part
from harvest.storage.rejects import read_rejects
from harvest.storage.staging import Staged, clear_places
from harvest.storage.target import Target, new_run_id, storage_errors
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import printable, printable_line

from .deciding import Planned
from .plan import Plan
from .prepare import PreparedRun
from .record import describe_run
from .result import RunResult


@contained()
def carry_out(prepared: PreparedRun, targets: Sequence[Target]) -> RunResult:
    """Read, stage and commit into locked datasets.

    Raises HarvestError for every problem that stops the run; then no dataset has changed.
    """
    run = new_run_id()
    plan = prepared.plan([target.manifest for target in targets], run)
    execution = _Execution(prepared, targets, plan, run)
    places = " or ".join(str(sink.location) for sink in prepared.sinks)
    with storage_errors(places, execution.standing):
        try:
            return execution.carry_out()
        except BaseException:
            for target in targets:
                target.drop_unfinished()
            raise


def _of_run(run: str, staged: Staged) -> Staged:
    """Return staged work as this run commits it, even if an earlier run staged it."""
    part = staged.part
    if part.run == run and not part.frozen:
        return staged
    return Staged(attrs.evolve(part, run=run, frozen={}), staged.directory)


class _Execution:
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
        # for each sink, by key; initially the staged work of an earlier, interrupted run
        self.staged: list[dict[str, Staged]] = [
            {p.key: p.staged_for[number] for p in plan.partitions if number in p.staged_for}
            for number in range(len(targets))
        ]

    def carry_out(self) -> RunResult:
        self._read()
        parts = self._one_per_partition()
        self._refuse(parts)
        piped = any(use.pipe is not None for use in self.prepared.uses)
        choices = _replaced_through(self.plan, self.manifests) if piped else ()
        try:
            for number in range(len(self.sinks)):
                interrupt.check()
                if not self.sinks[number].streams:
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
            left=left,
            manifests=self.manifests,
            dropped=self._dropped_parts(),
            choices=tuple(choices),
            datasets=tuple(str(sink.location) for sink in self.sinks),
            streamed=any(sink.streams for sink in self.sinks),
            no_files=self.prepared.no_files,
            settings=self.recipe.settings,
        )

    def _commit(self, number: int, parts: Mapping[str, Part]) -> None:
        sink, manifest = self.sinks[number], self.manifests[number]
        staged = {key: _of_run(self.run, each) for key, each in self.staged[number].items()}
        gone = self.plan.gone(number)
        if not (staged or gone):
            tidy(sink.state, manifest)  # removes staged work that no run will commit
            return
        if self.recipe.keep_runs is not None:
            manifest = attrs.evolve(manifest, keep_runs=self.recipe.keep_runs)
        left = {"replaced": self.plan.replaced[number], "dropped": self.plan.dropped[number]}
        counts = {word: len(keys) for word, keys in left.items()}
        record = describe_run(self.prepared, self.run, self.started, sink, parts.values(), counts)
        written = [each.part for each in staged.values()]
        commit = Commit(
            sink,
            manifest,
            staged=staged,
            replaced=gone,
            run=self.run,
            record=record,
            schemas=self.prepared.drift.schemas(self.plan, number, manifest, written),
            check_old=self.prepared.check_old,
        )
        try:
            self.targets[number].commit(commit, lambda: self.committed.append(sink))
        except PluginError as error:
            error.remedy = f"report this to the plugin's author; {self.standing()}"
            raise

    def _dropped_parts(self) -> tuple[Part, ...]:
        found: dict[str, Part] = {}
        for manifest, keys in zip(self.manifests, self.plan.dropped, strict=True):
            found.update(manifest.parts.pick(keys))
        return tuple(sorted(found.values(), key=lambda part: part.order))

    def standing(self) -> str:
        """Return a sentence about the part of the run that is already committed."""
        if not self.committed:
            return "nothing of this run was committed"
        if len(self.committed) == len(self.sinks):
            return "everything was committed; the next run removes what is left of the old state"
        done = ", ".join(str(sink.location) for sink in self.committed)
        return f"only {done} was committed; run again to complete the others"

    def _read(self) -> None:
        todo = self.plan.to_read
        if not todo:
            return
        for number, sink in enumerate(self.sinks):
            keep = {staged.directory for staged in self.staged[number].values()}
            clear_places(sink.state, (p.key for p in todo if number in p.read_for), keep=keep)
        numbers = {p.key: p.read_for for p in todo}
        with contextlib.closing(self._results(todo)) as results:
            rejected = sum(one.part.rejected for each in self.staged for one in each.values())
            for staged in results:
                part = staged[0].part
                if part.key not in numbers:  # a late result of a lost worker
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
        """Read the first rows of each source in this process, in the dataset's order."""
        left: dict[str, int] = {}
        for planned in todo:
            source = planned.use.source.name
            rows = left.setdefault(source, limit)
            if rows <= 0:
                continue
            task = attrs.evolve(self.prepared.task(self.plan, planned), limit=rows)
            (staged,) = Bundle((task,)).prepare().read(self.observer.progressed).staged
            left[source] -= staged[0].part.written
            yield staged

    def _check_rejects(self, rejected: int) -> None:
        most = self.recipe.max_rejects
        if most is not None and rejected > most:
            remedy = "look at the input, or raise --max-rejects; nothing was committed"
            raise TooManyRejects(f"{rejected} rejects, more than the {most} allowed", remedy=remedy)

    def _one_per_partition(self) -> dict[str, Part]:
        last_first = reversed(self.staged)  # the first sink's description counts
        parts = {key: one.part for each in last_first for key, one in each.items()}
        return dict(sorted(parts.items(), key=lambda item: item[1].order))

    def _refuse(self, parts: Mapping[str, Part]) -> None:
        """Raise before the commit if there are too many rejects, or if nothing could be read."""
        self._check_rejects(sum(part.rejected for part in parts.values()))
        failed = [part for part in parts.values() if part.failed and not part.rows]
        if failed and len(failed) == self.plan.count and not self.prepared.partial:
            first = failed[0]
            reason = self._reason(first)
            others = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
            remedy = "nothing could be read, nothing was committed"
            raise SourceError(f"{reason}{others}", where=first.origin, remedy=remedy)

    def _reason(self, part: Part) -> str:
        for staged in self.staged:
            if part.key in staged and part.rejects is not None:
                path = staged[part.key].directory / part.rejects.path
                for row in read_rejects(path):
                    return str(row["reason"])
        return "cannot be read"


def _replaced_through(plan: Plan, manifests: Sequence[Manifest]) -> list[str]:
    """Return a sentence for each pipe whose earlier rows the run replaces."""
    read = [planned for planned in plan.partitions if planned.partition.piped]
    names = {printable(planned.partition.origin) for planned in read}
    rows = Counter[str]()
    for number, manifest in enumerate(manifests):
        held = Counter[str]()
        for part in manifest.parts.pick({p.key for p in read} | plan.replaced[number]).values():
            if part.origin in names:
                held[part.origin] += part.written
        rows |= held
    return [
        f"{printable_line(name)}: replaces {count_in_words(count, 'row')} that an "
        "earlier run read from it"
        for name, count in sorted(rows.items())
    ]
