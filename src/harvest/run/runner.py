"""A whole run: plan, read and stage, commit, account."""

from __future__ import annotations

import contextlib
import getpass
import os
import secrets
import socket
from collections.abc import Generator, Mapping, Sequence
from datetime import UTC, datetime

import attrs
import orjson

from harvest.errors import (
    DatasetError,
    ExitCode,
    HarvestError,
    SourceError,
    TooManyRejects,
    UsageError,
)
from harvest.plugins.manager import PluginManager
from harvest.plugins.sink import Sink

from . import interrupt
from .account import Account, account_of
from .commit import commit, recover
from .lock import locked
from .manifest import Manifest, Part, plain, read_part
from .plan import Plan, Planned, SourceUse, list_partitions, make_plan
from .prepare import prepare_sinks, prepare_sources
from .recipe import Recipe
from .text import printable
from .work import DONE, STAGING, Progress, Task, TaskResult, harvest_partition

__all__ = ["Observer", "RunResult", "execute"]


class Observer:
    """What a run tells while it goes on; a display overrides what it needs."""

    def planned(self, plan: Plan, size_bytes: int) -> None:
        """The plan is made; so many bytes are to be read."""

    def progressed(self, progress: Progress) -> None:
        """A partition got further."""

    def finished(self, result: TaskResult) -> None:
        """A partition is read and staged."""


@attrs.frozen(kw_only=True)
class RunResult:
    """How a run ended.

    run: its id, None when nothing was committed; plan: what it set out to do.
    parts: the partitions it read (or found staged); skipped: those it left as they were.
    """

    run: str | None
    plan: Plan
    parts: tuple[Part, ...]
    skipped: tuple[Part, ...]
    dry: bool = False

    @property
    def account(self) -> Account:
        """Units read, written, filtered, folded and rejected, by source."""
        return account_of(self.parts, self.skipped)

    @property
    def notes(self) -> list[str]:
        """Remarks of the sources, each with the input it is about."""
        return [f"{part.origin}: {note}" for part in self.parts for note in part.notes]

    @property
    def exit_code(self) -> ExitCode:
        """0, or 3 when the run committed rejects."""
        return ExitCode.REJECTS if self.account.rejected else ExitCode.DONE


def execute(
    recipe: Recipe,
    plugins: PluginManager,
    *,
    force: bool = False,
    dry_run: bool = False,
    observer: Observer | None = None,
) -> RunResult:
    """Carry out a recipe.

    Raises UsageError for a recipe that names what is not there, HarvestError for everything that
    stops the run; then no dataset has changed.
    """
    observer = observer or Observer()
    uses = prepare_sources(recipe, plugins)
    sinks = prepare_sinks(recipe, plugins)
    run = _new_run_id()
    for sink in sinks:
        sink.check()
    listed = list_partitions(uses)
    with contextlib.ExitStack() as stack:
        if not dry_run:
            for sink in sinks:
                _make_state(sink)
                stack.enter_context(locked(sink.state))
        manifests = [_manifest(sink) for sink in sinks]
        if not dry_run:
            for sink, manifest in zip(sinks, manifests, strict=True):
                recover(sink, manifest)
        plan = make_plan(listed, sinks, manifests, run=run, force=force, limit=recipe.limit)
        observer.planned(plan, sum(p.partition.size_bytes for p in plan.to_read))
        if dry_run:
            return RunResult(run=None, plan=plan, parts=(), skipped=(), dry=True)
        work = _Work(recipe, plugins, sinks, manifests, plan, run, observer)
        try:
            return work.carry_out()
        except OSError as error:
            raise HarvestError(
                error.strerror or str(error),
                where=printable(str(error.filename)) if error.filename else None,
                remedy=work.standing(),
            ) from error


class _Work:
    """Reading, staging and committing one plan."""

    def __init__(
        self,
        recipe: Recipe,
        plugins: PluginManager,
        sinks: Sequence[Sink],
        manifests: Sequence[Manifest],
        plan: Plan,
        run: str,
        observer: Observer,
    ):
        self.recipe = recipe
        self.plugins = plugins
        self.sinks = sinks
        self.manifests = manifests
        self.plan = plan
        self.run = run
        self.observer = observer
        self.started = datetime.now(UTC)
        self.committed: list[Sink] = []
        # per sink: key -> staged part
        self.staged: list[dict[str, Part]] = [{} for _ in sinks]

    def carry_out(self) -> RunResult:
        self._take_staged()
        self._read()
        parts = self._one_per_partition()
        self._refuse(parts)
        interrupt.check()
        for number, (sink, manifest) in enumerate(zip(self.sinks, self.manifests, strict=True)):
            staged, replaced = self.staged[number], self.plan.replaced[number]
            if staged or replaced:
                commit(
                    sink,
                    manifest,
                    staged=staged,
                    replaced=replaced,
                    run=self.run,
                    record=self._record(sink, parts, replaced),
                )
                self.committed.append(sink)
        skipped = tuple(
            self.manifests[p.held_by[0]].parts[p.part.key]
            for p in self.plan.partitions
            if p.held_by and p.part.key not in parts
        )
        return RunResult(
            run=self.run if self.committed else None,
            plan=self.plan,
            parts=tuple(parts.values()),
            skipped=skipped,
        )

    def standing(self) -> str:
        """What a run that cannot go on has already put in force."""
        if not self.committed:
            return "nothing of this run was committed"
        done = ", ".join(str(sink.location) for sink in self.committed)
        return f"it was committed to {done} alone; run again to complete the others"

    def _take_staged(self) -> None:
        """Use what an earlier run staged before it was cut short."""
        for planned in self.plan.partitions:
            for number in planned.staged_for:
                directory = self.sinks[number].state / STAGING / planned.part.stem
                part = read_part(directory / DONE)
                if part is None:
                    raise DatasetError(
                        "staged work vanished while it was to be used",
                        where=str(directory),
                        remedy="run again",
                    )
                self.staged[number][part.key] = part

    def _read(self) -> None:
        todo = self.plan.to_read
        if not todo:
            return
        numbers = {p.part.key: p.read_for for p in todo}
        with contextlib.closing(self._results(todo)) as results:
            rejected = sum(part.rejected for parts in self.staged for part in parts.values())
            for result in results:
                for number, part in zip(numbers[result.parts[0].key], result.parts, strict=True):
                    self.staged[number][part.key] = part
                self.observer.finished(result)
                interrupt.check()
                rejected += result.parts[0].rejected
                self._check_rejects(rejected)

    def _results(self, todo: Sequence[Planned]) -> Generator[TaskResult, None, None]:
        if self.recipe.limit is not None:
            yield from self._limited(todo, self.recipe.limit)
            return
        engine = self.plugins.engine(self.recipe.engine)(
            workers=self.recipe.workers, **self.recipe.settings.get(self.recipe.engine, {})
        )
        yield from engine.map(
            harvest_partition,
            [self._task(planned) for planned in todo],
            size_bytes=sum(p.partition.size_bytes for p in todo),
            on_progress=self.observer.progressed,
        )

    def _limited(self, todo: Sequence[Planned], limit: int) -> Generator[TaskResult, None, None]:
        """The first rows of each source, in the dataset's order, in this process."""
        left: dict[str, int] = {}
        for planned in todo:
            rows = left.setdefault(planned.part.source, limit)
            if rows <= 0:
                continue
            task = attrs.evolve(self._task(planned), limit=rows)
            result = harvest_partition(task, self.observer.progressed)
            left[planned.part.source] -= result.parts[0].written
            yield result

    def _task(self, planned: Planned) -> Task:
        return Task(
            source=planned.use.source,
            partition=planned.partition,
            targets=tuple((self.sinks[number], planned.part) for number in planned.read_for),
            on_error=self.recipe.on_error,
            max_rejects=self.recipe.max_rejects,
        )

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
            for key, part in staged.items():
                parts.setdefault(key, part)
        return dict(sorted(parts.items(), key=lambda item: item[1].order))

    def _refuse(self, parts: Mapping[str, Part]) -> None:
        """Stop before the commit when the run is not what the user can have wanted."""
        self._check_rejects(sum(part.rejected for part in parts.values()))
        failed = [part for part in parts.values() if part.failed]
        if failed and len(failed) == len(self.plan.partitions):
            first = failed[0]
            reason = self._reason(first)
            others = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
            raise SourceError(
                f"{reason}{others}",
                where=first.origin,
                remedy="nothing could be read, nothing was committed",
            )

    def _reason(self, part: Part) -> str:
        from .rejects import read_rejects

        for number, staged in enumerate(self.staged):
            if part.key in staged and part.rejects is not None:
                path = self.sinks[number].state / STAGING / part.stem / part.rejects.path
                for row in read_rejects([path]):
                    return str(row["reason"])
        return "cannot be read"

    def _record(self, sink: Sink, parts: Mapping[str, Part], replaced: frozenset[str]) -> bytes:
        account = account_of(parts.values(), ())
        redacted = [
            {"name": use.source.name, "location": use.source.redact(use.source.location)}
            for use in _uses_of(self.plan)
        ]
        document = {
            "run": self.run,
            "started": self.started.isoformat(),
            "ended": datetime.now(UTC).isoformat(),
            "user": _user(),
            "host": socket.gethostname(),
            "sources": redacted,
            "sink": {"name": sink.name, "location": sink.location},
            "plugins": sorted({part.plugin for part in parts.values()}),
            "engine": self.recipe.engine,
            "limit": self.recipe.limit,
            "partitions": len(parts),
            "replaced": len(replaced),
            "account": plain(list(account.sources.values())),
        }
        return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def _uses_of(plan: Plan) -> list[SourceUse]:
    """The sources of a plan, each once."""
    return list({id(p.use): p.use for p in plan.partitions}.values())


def _manifest(sink: Sink) -> Manifest:
    manifest = Manifest.load(sink.state)
    if manifest is None:
        return Manifest(sink=sink.name, location=str(sink.location))
    if manifest.sink != sink.name:
        raise UsageError(
            f"the dataset there was written by sink {manifest.sink!r}, not {sink.name!r}",
            where=str(sink.location),
            remedy=f"use --sink {manifest.sink}:..., or another location",
        )
    return manifest


def _make_state(sink: Sink) -> None:
    try:
        (sink.state / STAGING).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HarvestError(
            f"the dataset cannot be written: {error.strerror}",
            where=str(error.filename or sink.location),
            remedy="check the sink's location and its permissions",
        ) from error


def _new_run_id() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name
        return str(os.getuid())
