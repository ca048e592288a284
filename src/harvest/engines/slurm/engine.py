"""The engine ``slurm``: array tasks stage the partitions, the run commits them.

Two ways to work.  Attached, the run keeps the dataset's lock, waits for the tasks, submits again
what was lost, and commits.  Detached (``slurm.wait=false``), it submits the array and a last job
that begins when all tasks have ended, however; that job is the same run with the engine
``local``: it takes what is staged, reads what is missing, and commits.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import attrs

from harvest import interrupt
from harvest.api.engine import Engine, Work
from harvest.batch import Batch, CommandStatus, Job, Options, python
from harvest.batch.batch import FIRST_PAUSE_S, LONGEST_PAUSE_S, PATIENCE_S, PAUSE_GROWS
from harvest.batch.job import ARRAY_TASKS
from harvest.batch.slurm import SlurmError
from harvest.errors import ConfigError, ExitCode, HarvestError, UsageError
from harvest.pipeline.recipe import Recipe
from harvest.pipeline.task import Progress, Task
from harvest.storage.manifest import Manifest
from harvest.storage.staging import STAGING, Staged, parts_in
from harvest.toolkit.texts import printable

from .tasks import read_error, write_tasks

__all__ = ["SlurmConfig", "SlurmEngine", "Submitted"]

BYTES_WORTH_A_JOB: Final = 64 << 20
"""Input that one array task gets at least, when the user does not say."""

LOOK_EVERY_S: Final = 2.0
"""How often staging is looked at, at least."""

LAST_WORDS_S: Final = 30.0
"""How long tasks may take to end once everything is staged."""

STAGE, COMMIT = "harvest-stage", "harvest-commit"
RECIPE: Final = "recipe.toml"


@attrs.frozen(kw_only=True)
class SlurmConfig(Options):
    """Settings of the engine ``slurm``."""

    tasks_per_job: int | None = attrs.field(
        default=None,
        metadata={
            "doc": "Partitions that one array task reads; by default so many that it has 64 MiB "
            "of input, and that there are at most 1,000 array tasks."
        },
    )
    directory: str | None = attrs.field(
        default=None,
        metadata={
            "doc": "Directory that all nodes see, for scripts, states and logs; by default in the "
            "first dataset's _harvest/."
        },
    )
    wait: bool = attrs.field(
        default=True,
        metadata={
            "doc": "Wait for the jobs and commit. If false, a last job commits and the command "
            "returns once all is submitted."
        },
    )
    retries: int = attrs.field(
        default=3, metadata={"doc": "How often an array task that was lost is submitted again."}
    )

    def __attrs_post_init__(self) -> None:
        for name, least in (("tasks_per_job", 1), ("retries", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ConfigError(
                    f"{value!r} does not fit",
                    where=f"slurm.{name}",
                    remedy=f"give at least {least}",
                )


class Submitted(HarvestError):
    """The jobs are submitted and the run's work is theirs now; no failure, but no result either.

    directory: of the batch, for ``harvest.batch.Batch.open``.
    """

    exit_code = ExitCode.DONE


class SlurmEngine(Engine):
    """An array of Slurm jobs; ``workers`` bounds how many of its tasks run at once."""

    name = "slurm"
    Config = SlurmConfig

    def run(self, work: Work) -> Iterator[tuple[tuple[Staged, ...], ...]]:
        """Results as they are staged; see :class:`harvest.api.engine.Engine`.

        Raises Submitted, once all is submitted, when the run is not to wait.
        """
        if not self.config.wait:
            self._detach(work)
        return self._attach(work)

    def scripts(self, work: Work) -> Sequence[str]:
        """The array's script, and the last job's where the run is not to wait."""
        tasks = work.tasks
        if not tasks:
            return ()
        directory = self._directory(tasks)
        lasting = [task for task in tasks if self.config.wait or not task.targets[0][1].live]
        jobs = []
        if lasting:
            jobs.append(self._job(directory, _chunks(lasting, self.config.tasks_per_job)))
        if not self.config.wait:
            jobs.append(self._last_job(directory, work.recipe, jobs))
        return [str(script) for script in Batch(directory).scripts(*jobs)]

    def _attach(self, work: Work) -> Iterator[tuple[tuple[Staged, ...], ...]]:
        directory = self._directory(work.tasks)
        chunks = _chunks(_prepare(work, work.tasks), self.config.tasks_per_job)
        write_tasks(directory / "tasks", chunks)
        watch = _Watch(directory, chunks, self.config.retries, work.on_progress)
        batch, _ = _submit(directory, self._job(directory, chunks))
        try:
            for result in watch.results(batch):
                yield (result,)
        except BaseException:
            # they only stage: a task that cannot be cancelled now does no harm
            with contextlib.suppress(HarvestError):
                batch.cancel()
            raise
        # all is staged: they write their last words, or were begun again for nothing
        with contextlib.suppress(SlurmError):
            if any(job.active for job in batch.wait(timeout_s=LAST_WORDS_S)):
                batch.cancel()
        _remove(directory)

    def _detach(self, work: Work) -> None:
        tasks = work.tasks
        _refuse_what_cannot_be_left(tasks)
        directory = self._directory(tasks)
        # what has no lasting state is read by the last job
        lasting = [task for task in tasks if not task.targets[0][1].live]
        jobs = []
        if lasting:
            chunks = _chunks(_prepare(work, lasting), self.config.tasks_per_job)
            write_tasks(directory / "tasks", chunks)
            jobs.append(self._job(directory, chunks))
        else:
            directory.mkdir(mode=0o700, parents=True)
        self._write_recipe(directory, work.recipe)
        _, ids = _submit(directory, *jobs, self._last_job(directory, work.recipe, jobs))
        shown = printable(str(directory))
        raise Submitted(
            f"submitted as Slurm job {' and '.join(map(str, ids))}; the last one commits",
            remedy=f"see how far it is: python -m harvest.batch status {shown}",
        )

    def _directory(self, tasks: Sequence[Task]) -> Path:
        sink, part = tasks[0].targets[0]
        if self.config.directory is None:
            return sink.state / "batch" / part.run
        return Path(self.config.directory).expanduser().absolute() / f"harvest-{part.run}"

    def _job(self, directory: Path, chunks: Sequence[Sequence[Task]]) -> Job:
        return Job(
            name=STAGE,
            commands=[
                python("harvest.engines.slurm.worker", str(directory / "tasks"), str(number))
                for number in range(len(chunks))
            ],
            options=self.config,
            array_limit=self.workers,
        )

    def _last_job(self, directory: Path, recipe: Recipe, before: Sequence[Job]) -> Job:
        """The same run, once the tasks have ended, on a node of its own."""
        # locations may hold bytes that are not text, which TOML cannot
        command = python(
            "harvest",
            "run",
            str(directory / RECIPE),
            *(f"--source={endpoint}" for endpoint in recipe.sources),
            *(f"--sink={endpoint}" for endpoint in recipe.sinks),
            f"--wait={PATIENCE_S:.0f}",
        )
        return Job(
            name=COMMIT,
            commands=[command],
            options=self.config,
            after_any=[job.name for job in before],
        )

    def _write_recipe(self, directory: Path, recipe: Recipe) -> None:
        """What the last job needs beside sources and sinks."""
        settings = {k: v for k, v in recipe.settings.items() if k != self.name}
        rest = attrs.evolve(
            recipe,
            sources=(),
            sinks=(),
            settings=settings,
            engine="local",
            workers=self.config.cpus or 1,
        )
        path = directory / RECIPE
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(rest.to_toml(), encoding="utf-8")


def _submit(directory: Path, *jobs: Job) -> tuple[Batch, list[int]]:
    """The batch of these jobs and their ids; nothing is left of it when submitting fails."""
    batch = Batch(directory)
    try:
        return batch, batch.submit(*jobs)
    except BaseException:
        _remove(directory)
        raise


def _remove(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    with contextlib.suppress(OSError):  # another run's batch is there
        directory.parent.rmdir()


def _refuse_what_cannot_be_left(tasks: Sequence[Task]) -> None:
    """The last job takes staged work only for what the dataset has not in the same state."""
    held: dict[int, Manifest | None] = {}
    for task in tasks:
        for sink, part in task.targets:
            if id(sink) not in held:
                held[id(sink)] = Manifest.load(sink.state)
            manifest = held[id(sink)]
            there = manifest.parts.get(part.key) if manifest is not None else None
            if there is not None and there.stem == part.stem and there.settled:
                raise UsageError(
                    "--force cannot be left to a last job, which would find nothing changed",
                    remedy="wait for the jobs: leave out slurm.wait=false",
                )


def _prepare(work: Work, tasks: Iterable[Task]) -> list[Task]:
    """Tasks as they are written down for the jobs, one by one: each array task bundles its own."""
    ready: list[Task] = []
    for task in tasks:
        interrupt.check()
        ready += work.prepare((task,))
    return ready


def _chunks(tasks: Sequence[Task], per_job: int | None) -> list[list[Task]]:
    """The partitions of each array task, in their order."""
    least = -(-len(tasks) // ARRAY_TASKS)
    if per_job is not None:
        step = max(per_job, least)
        return [list(tasks[i : i + step]) for i in range(0, len(tasks), step)]
    # a partition of unknown size may be a large one
    sizes = [task.partition.size_bytes or BYTES_WORTH_A_JOB for task in tasks]
    goal = max(BYTES_WORTH_A_JOB, -(-sum(sizes) // ARRAY_TASKS))
    while True:
        chunks: list[list[Task]] = []
        filled = goal
        for task, size in zip(tasks, sizes, strict=True):
            if filled >= goal:
                chunks.append([])
                filled = 0
            chunks[-1].append(task)
            filled += size
        if len(chunks) <= ARRAY_TASKS:
            return chunks
        goal *= 2


def _staged_in(state: Path) -> set[Path]:
    staging = state / STAGING
    return set(staging.iterdir()) if staging.is_dir() else set()


class _Watch:
    """A submitted array, watched until all its partitions are staged."""

    def __init__(
        self,
        directory: Path,
        chunks: Sequence[Sequence[Task]],
        retries: int,
        on_progress: Callable[[Progress], None] | None,
    ):
        self.folder = directory / "tasks"
        self.retries = retries
        self.on_progress = on_progress
        self.waiting = {number: list(chunk) for number, chunk in enumerate(chunks)}
        self.lost = dict.fromkeys(self.waiting, 0)
        self.unseen: set[int] = set()
        self.states = {sink.state for chunk in chunks for task in chunk for sink, _ in task.targets}
        # what an earlier run left is none of this one's
        self.seen = {directory for state in self.states for directory in _staged_in(state)}
        self.staged: dict[tuple[Path, str], Staged] = {}

    def results(self, batch: Batch) -> Iterator[tuple[Staged, ...]]:
        """Results as they are staged by the batch's tasks, until all are there."""
        self.batch = batch
        pause, asked = FIRST_PAUSE_S, time.monotonic()
        answered = asked
        while self.waiting:
            interrupt.sleep(min(pause, LOOK_EVERY_S))
            found: Sequence[CommandStatus] = ()
            if time.monotonic() - asked >= pause:
                asked = time.monotonic()
                pause = min(pause * PAUSE_GROWS, LONGEST_PAUSE_S)
                try:
                    found = self.batch.status()[0].commands
                    answered = asked
                except SlurmError:
                    if asked - answered > PATIENCE_S:
                        raise
            # after Slurm was asked: what it calls ended is staged by now
            yield from self._results_staged()
            if found and self._judge(found):
                pause = FIRST_PAUSE_S

    def _results_staged(self) -> Iterator[tuple[Staged, ...]]:
        self._look()
        for number in list(self.waiting):
            left = []
            for task in self.waiting[number]:
                found = [self.staged.get((sink.state, part.stem)) for sink, part in task.targets]
                whole = [staged for staged in found if staged is not None]
                if len(whole) < len(found):
                    left.append(task)
                    continue
                if self.on_progress is not None:
                    self.on_progress(Progress(whole[0].part.written, task.partition.size_bytes))
                yield tuple(whole)
            if left:
                self.waiting[number] = left
            else:
                del self.waiting[number]

    def _look(self) -> None:
        """Find what was staged since the last look: a listing, and what is new in it."""
        for state in self.states:
            for directory in _staged_in(state) - self.seen:
                for part in parts_in(directory):
                    self.seen.add(directory)
                    self.staged[state, part.stem] = Staged(part, directory)

    def _place(self, number: int) -> Path:
        """Where the first partition that an array task owes is staged, if by itself."""
        sink, part = self.waiting[number][0].targets[0]
        return sink.state / STAGING / part.stem

    def _judge(self, found: Iterable[CommandStatus]) -> bool:
        """Raise what stopped a task, submit lost ones again; whether any was."""
        gone = [c for c in found if c.number in self.waiting and not c.active]
        for command in gone:
            error = read_error(self.folder, command.number)
            if error is not None:
                raise error
        self.unseen &= {command.number for command in gone}
        again = []
        for command in gone:
            number = command.number
            if number not in self.unseen:
                # staged work may take a moment to be seen from another node
                self.unseen.add(number)
                continue
            self.unseen.discard(number)
            self.lost[number] += 1
            if command.state == "done" or self.lost[number] > self.retries:
                raise self._lost(command)
            again.append(number)
        if again:
            with contextlib.suppress(SlurmError):  # then it is tried again, as another loss
                self.batch.resubmit(STAGE, again)
        return bool(gone)

    def _lost(self, command: CommandStatus) -> HarvestError:
        log = printable(str(self.batch.directory / STAGE / "log"))
        if command.state == "done":
            return HarvestError(
                "an array task ended well, but what it staged is not here",
                where=str(self._place(command.number)),
                remedy=f"check that all nodes see the dataset's directory; logs are in {log}",
            )
        return HarvestError(
            f"array task {command.number} was lost {self.lost[command.number]} times, "
            f"the last time so: {command.reason}",
            where=printable(self.waiting[command.number][0].partition.origin),
            remedy=f"see the logs in {log}; give more memory or time, and run again: finished "
            "partitions are kept",
        )
