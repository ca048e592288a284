"""The engine ``slurm``: array tasks stage the partitions, the run commits them.

Two ways to work.  Attached, the run keeps the dataset's lock, waits for the tasks, submits again
what was lost, and commits.  Detached (``slurm.wait=false``), it submits the array and a last job
that begins when all tasks have ended, however; that job is the same run with the engine
``local``: it takes what is staged, reads what is missing, and commits.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import attrs

from harvest import interrupt
from harvest.api.engine import Engine, Work
from harvest.batch import Batch, Job, Options, python
from harvest.batch.batch import PATIENCE_S
from harvest.batch.job import ARRAY_TASKS
from harvest.batch.slurm import SlurmError
from harvest.engines.units import in_units
from harvest.errors import ConfigError, ExitCode, HarvestError, UsageError
from harvest.pipeline.bundling import cost_bytes
from harvest.pipeline.recipe import Recipe
from harvest.pipeline.spooling import refuse_pipes
from harvest.pipeline.task import Task, identify
from harvest.storage.manifest import Manifest
from harvest.storage.staging import Staged
from harvest.toolkit.texts import printable

from .array_watch import STAGE, ArrayWatch
from .tasks import write_tasks

__all__ = ["SlurmConfig", "SlurmEngine", "Submitted"]

BYTES_WORTH_A_JOB: Final = 64 << 20
"""Input that one array task gets at least, when the user does not say."""

LAST_WORDS_S: Final = 30.0
"""How long tasks may take to end once everything is staged."""

COMMIT: Final = "harvest-commit"
RECIPE: Final = "recipe.toml"


@attrs.frozen(kw_only=True)
class SlurmConfig(Options):
    """Settings of the engine ``slurm``."""

    tasks_per_job: int | None = attrs.field(
        default=None,
        metadata={
            "doc": "Partitions that one array task reads; by default so many that they are 64 MiB "
            "of input, each counted with 64 KiB more than it has, and that there are at most "
            "1,000 array tasks."
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
        if not work.bundles:
            return ()
        directory = self._directory(work)
        tasks = _tasks(work) if self.config.wait else _lasting(_tasks(work))
        jobs = []
        if chunks := sum(1 for _ in self._chunks(work, tasks)):
            jobs.append(self._job(directory, chunks))
        if not self.config.wait:
            jobs.append(self._last_job(directory, work.recipe, jobs))
        return [str(script) for script in Batch(directory).scripts(*jobs)]

    def _attach(self, work: Work) -> Iterator[tuple[tuple[Staged, ...], ...]]:
        directory = self._directory(work)
        watch = ArrayWatch(directory, work.sinks, self.config.retries, work.on_progress)
        with _removed_on_failure(directory):
            chunks = watch.expected(self._chunks(work, _prepared(work, _tasks(work))))
            count = write_tasks(directory / "tasks", chunks, work.sources, work.sinks)
            batch = Batch(directory)
            batch.submit(self._job(directory, count))
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
        refuse_pipes(work.recipe, "a job that commits later")
        directory = self._directory(work)
        with _removed_on_failure(directory):
            tasks = _lasting(_refusing_what_cannot_be_left(_tasks(work)))
            chunks = self._chunks(work, _prepared(work, tasks))
            count = write_tasks(directory / "tasks", chunks, work.sources, work.sinks)
            jobs = [self._job(directory, count)] if count else []
            self._write_recipe(directory, work.recipe)
            ids = Batch(directory).submit(*jobs, self._last_job(directory, work.recipe, jobs))
        shown = printable(str(directory))
        raise Submitted(
            f"submitted as Slurm job {' and '.join(map(str, ids))}; the last one commits",
            remedy=f"see how far it is: python -m harvest.batch status {shown}",
        )

    def _directory(self, work: Work) -> Path:
        sink, part = work.bundles[0][0].targets[0]
        if self.config.directory is None:
            return sink.state / "batch" / part.run
        return Path(self.config.directory).expanduser().absolute() / f"harvest-{part.run}"

    def _chunks(self, work: Work, tasks: Iterable[Task]) -> Iterator[list[Task]]:
        """The partitions of each array task, in their order; tasks: of the work."""
        per_job = self.config.tasks_per_job
        if per_job is not None:
            count = max(per_job, -(-work.partitions // ARRAY_TASKS))
            return in_units(tasks, lambda task: 1, lambda: count)
        # so that the number of array tasks stays within the limit
        enough = max(BYTES_WORTH_A_JOB, -(-work.cost_bytes // ARRAY_TASKS))
        return in_units(tasks, lambda task: cost_bytes(task.partition), lambda: enough)

    def _job(self, directory: Path, count: int) -> Job:
        return Job(
            name=STAGE,
            commands=[
                python("harvest.engines.slurm.worker", str(directory / "tasks"), str(number))
                for number in range(count)
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


@contextlib.contextmanager
def _removed_on_failure(directory: Path) -> Iterator[None]:
    """Of a batch that could not be submitted, nothing is left."""
    try:
        yield
    except BaseException:
        _remove(directory)
        raise


def _remove(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    with contextlib.suppress(OSError):  # another run's batch is there
        directory.parent.rmdir()


def _tasks(work: Work) -> Iterator[Task]:
    """The tasks with the names of their parts, by which what is staged of them is found."""
    return (identify(task) for bundle in work.bundles for task in bundle)


def _lasting(tasks: Iterable[Task]) -> Iterator[Task]:
    """Without what has no lasting state, which the last job reads."""
    return (task for task in tasks if not task.targets[0][1].live)


def _prepared(work: Work, tasks: Iterable[Task]) -> Iterator[Task]:
    """Tasks as they are written down for the jobs, one by one: each array task bundles its own."""
    for task in tasks:
        interrupt.check()
        yield from work.prepare((task,))


def _refusing_what_cannot_be_left(tasks: Iterable[Task]) -> Iterator[Task]:
    """The tasks; the last job takes staged work only for what no dataset has in the same state."""
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
        yield task
