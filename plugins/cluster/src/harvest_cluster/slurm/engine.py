"""The engine ``slurm``: array tasks stage the partitions, the run commits them.

There are two modes. Attached, the run keeps the dataset's lock, waits for the tasks, resubmits
lost ones, and commits. Detached (``slurm.wait=false``), it submits the array and a last job. The
last job begins when all tasks have ended, even if some failed. It is the same run with the engine
``local``: it uses the staged partitions, reads missing ones, and commits.
"""

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Final

import attrs

from harvest import Bundle, Engine, Result, Work, interrupt
from harvest.errors import ExitCode, HarvestError
from harvest.toolkit.settings import at_least, setting
from harvest.toolkit.texts import printable
from harvest_cluster import in_units
from harvest_cluster.batch import ARRAY_TASKS, PATIENCE_S, Batch, Job, Options, SlurmError, python

from .array_watch import STAGE, ArrayWatch
from .tasks import write_task

BYTES_WORTH_A_JOB: Final = 64 << 20
"""Default minimum of input bytes for one array task."""

LAST_WORDS_S: Final = 30.0
"""Maximum seconds that tasks may take to end once everything is staged."""

COMMIT: Final = "harvest-commit"
RECIPE: Final = "recipe.toml"


@attrs.frozen(kw_only=True)
class SlurmConfig(Options):
    """Settings of the engine ``slurm``."""

    tasks_per_job: int | None = setting(
        "Partitions that one array task reads. The default gives each task 64 MiB of input, with "
        "64 KiB added per partition, in at most 1,000 array tasks.",
        None,
        at_least(1),
    )
    directory: str | None = setting(
        "Directory that all nodes see, for scripts, states and logs. The default is in the first "
        "dataset's _harvest/."
    )
    wait: bool = setting(
        "Wait for the jobs and commit. If false, a last job commits and the command returns after "
        "submitting.",
        True,
    )
    retries: int = setting("How often to submit a lost array task again.", 3, at_least(0))


class Submitted(HarvestError):
    """Reports that the jobs are submitted and do the run's work: no failure, but no result yet.

    directory: the batch's directory, for ``harvest_cluster.batch.Batch.open``.
    """

    exit_code = ExitCode.DONE


class SlurmEngine(Engine):
    """An array of Slurm jobs; ``workers`` bounds how many of its tasks run at the same time."""

    name = "slurm"
    Config = SlurmConfig

    def run(self, work: Work) -> Iterator[Result]:
        """Yield results as they are staged; see :class:`harvest.Engine`.

        Raises Submitted after all jobs are submitted, if the run does not wait.
        """
        if not self.config.wait:
            self._detach(work)
        return self._attach(work)

    def scripts(self, work: Work) -> Sequence[str]:
        """Return the scripts of the array and, if the run does not wait, of the last job."""
        if not work.bundles:
            return ()
        directory = self._directory(work)
        if not self.config.wait:
            work = work.left()
        jobs = []
        if chunks := sum(1 for _ in self._chunks(work)):
            jobs.append(self._job(directory, chunks))
        if not self.config.wait:
            jobs.append(self._last_job(directory, work, jobs))
        return [str(script) for script in Batch(directory).scripts(*jobs)]

    def _attach(self, work: Work) -> Iterator[Result]:
        directory = self._directory(work)
        awaited = work.awaited()
        with _removed_on_failure(directory), work.remote(lasting=True) as remote:
            count = 0
            for count, chunk in enumerate(self._chunks(remote), 1):
                interrupt.check()
                chunk = awaited.expect(count - 1, chunk.prepare())
                write_task(directory / "tasks", count - 1, chunk)
            batch = Batch(directory)
            batch.submit(self._job(directory, count))
        try:
            yield from ArrayWatch(batch, awaited, self.config.retries).results()
        except BaseException:
            # tasks only stage: one that cannot be cancelled now does no harm
            with contextlib.suppress(HarvestError):
                batch.cancel()
            raise
        # all is staged: remaining tasks write their final state, or were restarted needlessly
        with contextlib.suppress(SlurmError):
            if any(job.active for job in batch.wait(timeout_s=LAST_WORDS_S)):
                batch.cancel()
        _remove(directory)

    def _detach(self, work: Work) -> None:
        directory = self._directory(work)
        with _removed_on_failure(directory), work.left().remote(lasting=True) as remote:
            count = 0
            for count, chunk in enumerate(self._chunks(remote), 1):
                interrupt.check()
                write_task(directory / "tasks", count - 1, chunk.prepare())
            jobs = [self._job(directory, count)] if count else []
            work.write_recipe(directory / RECIPE)
            ids = Batch(directory).submit(*jobs, self._last_job(directory, work, jobs))
        shown = printable(str(directory))
        raise Submitted(
            f"submitted as Slurm job {' and '.join(map(str, ids))}; the last one commits",
            remedy=f"see how far it is: python -m harvest_cluster.batch status {shown}",
        )

    def _directory(self, work: Work) -> Path:
        if self.config.directory is None:
            return work.state / "batch" / work.run
        return Path(self.config.directory).expanduser().absolute() / f"harvest-{work.run}"

    def _chunks(self, work: Work) -> Iterator[Bundle]:
        """Yield the bundle of each array task, in the order of the work."""
        if (per_job := self.config.tasks_per_job) is not None:
            count = max(per_job, -(-work.partitions // ARRAY_TASKS))
            alone = (each for bundle in work.bundles for each in bundle.split(1))
            return map(Bundle.join, in_units(alone, len, lambda: count))
        # so that the number of array tasks stays within the limit
        enough = max(BYTES_WORTH_A_JOB, -(-work.cost_bytes // ARRAY_TASKS))
        return map(Bundle.join, in_units(work.bundles, attrgetter("cost_bytes"), lambda: enough))

    def _job(self, directory: Path, count: int) -> Job:
        tasks = str(directory / "tasks")
        commands = [python("harvest_cluster.slurm.worker", tasks, str(n)) for n in range(count)]
        return Job(name=STAGE, commands=commands, options=self.config, array_limit=self.workers)

    def _last_job(self, directory: Path, work: Work, before: Sequence[Job]) -> Job:
        """Build the job that runs the same run after the tasks have ended, on its own node."""
        words = work.again(directory / RECIPE, workers=self.config.cpus or 1, wait_s=PATIENCE_S)
        commands, names = [python("harvest", *words)], [job.name for job in before]
        return Job(name=COMMIT, commands=commands, options=self.config, after_any=names)


@contextlib.contextmanager
def _removed_on_failure(directory: Path) -> Iterator[None]:
    """Remove the batch's directory if its jobs cannot be submitted."""
    try:
        yield
    except BaseException:
        _remove(directory)
        raise


def _remove(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    with contextlib.suppress(OSError):  # another run's batch is there
        directory.parent.rmdir()
