"""Jobs that belong together, in one directory: write, submit, watch, cancel."""

import contextlib
import math
import shlex
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, Self

import attrs

from harvest import UsageError, interrupt
from harvest.toolkit.texts import printable_line

from . import slurm
from .files import JOB, LOG, SCRIPT, STATE, SUBMITTED, Submission, write
from .job import Job, render, safe_name
from .status import JobFiles, JobStatus, job_status

FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 15.0
PAUSE_GROWS: Final = 1.5
"""Growth of the pause between queries: short at first, then longer to spare the controller."""

COMMANDS_SHOWN: Final = 20

PATIENCE_S: Final = 600.0
"""Seconds that Slurm's commands may keep failing before a wait is given up."""


@attrs.frozen(kw_only=True)
class Script:
    """A job as it would be submitted.

    job: the job's label; text: text of the script; submit: the command that submits the script,
    with ``<NAME>`` for the job id of another job; commands: the command lines that its tasks run.
    ``str`` returns all of them, for a terminal.
    """

    job: str
    text: str
    submit: str
    commands: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"# {printable_line(self.submit)}", *self.text.splitlines(), "", "# it runs"]
        lines += [f"#   {printable_line(command)}" for command in self.commands[:COMMANDS_SHOWN]]
        if len(self.commands) > COMMANDS_SHOWN:
            lines.append(f"#   and {len(self.commands) - COMMANDS_SHOWN} more")
        return "\n".join(lines) + "\n"


class Batch:
    """Jobs that belong together; their files are in one directory that all nodes see.

    Anybody who may read the directory can query their status, from any shell.
    """

    def __init__(self, directory: Path | str):
        self.directory = Path(directory).expanduser().absolute()

    @classmethod
    def open(cls, directory: Path | str) -> Self:
        """Open the batch that was submitted from ``directory``.

        Raises UsageError if there is none.
        """
        batch = cls(directory)
        if not batch._places():
            problem = "no batch was submitted from here"
            remedy = "give the directory that was named when it was submitted"
            raise UsageError(problem, where=str(batch.directory), remedy=remedy)
        return batch

    def scripts(self, *jobs: Job) -> list[Script]:
        """Return the scripts that ``submit`` would submit; nothing is written."""
        self._check(jobs)
        return [self._script(job) for job in jobs]

    def _script(self, job: Job) -> Script:
        place = self.directory / job.label
        words = ["sbatch", "--parsable", f"--chdir={place}"]
        if waits := _dependency(job, "<{}>".format):
            words.append(f"--dependency={waits}")
        submit = shlex.join([*words, str(place / SCRIPT)])
        commands = tuple(shlex.join(command) for command in job.commands)
        return Script(job=job.label, text=render(job, place), submit=submit, commands=commands)

    def submit(self, *jobs: Job) -> list[int]:
        """Write and submit jobs, dependencies first; return Slurm's job ids.

        Raises UsageError if Slurm's commands are missing or the batch has a job of the same name.
        Raises SlurmError if Slurm refuses a job, after cancelling those already submitted.
        """
        self._check(jobs)
        for job in jobs:
            if (self.directory / job.label).exists():
                problem = f"the batch has a job {job.label!r} already"
                remedy = "choose another directory for this batch"
                raise UsageError(problem, where=str(self.directory), remedy=remedy)
        for job in jobs:
            place = self.directory / job.label
            for folder in (place, place / STATE, place / LOG):
                folder.mkdir(mode=0o700, parents=True)
            (place / SCRIPT).write_text(render(job, place), encoding="utf-8")
            write(place / JOB, job.document())
        ids: dict[str, int] = {}
        try:
            for job in jobs:
                tasks = range(job.tasks) if job.is_array else None
                wanted = _dependency(job, lambda name: str(ids[name])) or None
                ids[job.label] = self._submit(job.label, tasks, array=None, dependency=wanted)
        except BaseException:
            if ids:
                with contextlib.suppress(slurm.SlurmError):  # the first failure is to be reported
                    self.cancel()
            for job in jobs:
                if job.label not in ids:
                    shutil.rmtree(self.directory / job.label, ignore_errors=True)
            raise
        return list(ids.values())

    def resubmit(self, name: str, commands: Iterable[int]) -> int:
        """Submit the tasks of these commands of a job again; return the new job id.

        name: name of a submitted job without active tasks.
        Commands of a task that succeeded are not repeated.
        """
        label = safe_name(name)
        job = JobFiles(self.directory / label)
        if not job.submissions:
            raise UsageError(f"no job {label!r} was submitted", where=str(self.directory))
        if job.submissions[0].tasks is None:
            return self._submit(label, None, array=None, dependency=None)
        tasks = sorted({number // job.per_task for number in commands})
        limit = f"%{job.array_limit}" if job.array_limit else ""
        array = ",".join(map(str, tasks)) + limit
        return self._submit(label, tasks, array=array, dependency=None)

    def _submit(
        self, label: str, tasks: Sequence[int] | None, *, array: str | None, dependency: str | None
    ) -> int:
        place = self.directory / label
        job_id, cluster = slurm.submit(place / SCRIPT, place, array=array, dependency=dependency)
        submissions = [*JobFiles(place).submissions, Submission(job_id, cluster, tasks)]
        write(place / SUBMITTED, [attrs.asdict(submission) for submission in submissions])
        return job_id

    def status(self) -> list[JobStatus]:
        """Return the status of each job, in the order of submission.

        Raises SlurmError if Slurm does not answer.
        """
        jobs = self._jobs()
        submissions = [submission for job in jobs for submission in job.submissions]
        known = slurm.queued_tasks(submissions)
        gone = [job for job in jobs if any(task not in known for task in job.latest().values())]
        unknown = [submission for job in gone for submission in job.submissions]
        accounted = slurm.ended_tasks(unknown) if unknown else {}
        return [job_status(job, known, accounted) for job in jobs]

    def wait(
        self,
        *,
        timeout_s: float | None = None,
        on_poll: Callable[[list[JobStatus]], None] | None = None,
    ) -> list[JobStatus]:
        """Wait until no job is active; return the last status.

        timeout_s: maximum seconds to wait; the jobs continue, and the status shows that.
        on_poll: called with each intermediate status.
        Raises SlurmError if Slurm's commands fail for ten minutes.
        """
        answered = time.monotonic()
        until = math.inf if timeout_s is None else answered + timeout_s
        pause = FIRST_PAUSE_S
        ended = False
        while True:
            late = time.monotonic() >= until
            try:
                found = self.status()
                answered = time.monotonic()
            except slurm.SlurmError:
                if late or time.monotonic() - answered > PATIENCE_S:
                    raise
            else:
                if on_poll is not None:
                    on_poll(found)
                active = any(job.active for job in found)
                # a final state may take a moment to become visible on another node
                if late or (not active and (ended or not any(job.wordless for job in found))):
                    return found
                ended = not active
            with interrupt.orderly():  # so that the caller can cancel the jobs
                interrupt.sleep(max(0.0, min(pause, until - time.monotonic())))
            pause = min(pause * PAUSE_GROWS, LONGEST_PAUSE_S)

    def cancel(self) -> None:
        """Cancel all jobs that have not ended."""
        slurm.cancel(submission for job in self._jobs() for submission in job.submissions)

    def _places(self) -> list[Path]:
        if not self.directory.is_dir():
            return []
        entries = sorted(self.directory.iterdir())  # unlike glob, it raises what is refused
        return [entry for entry in entries if (entry / SUBMITTED).is_file()]

    def _jobs(self) -> list[JobFiles]:
        jobs = [JobFiles(place) for place in self._places()]
        return sorted(jobs, key=lambda job: job.submissions[0].job_id)

    def _check(self, jobs: Sequence[Job]) -> None:
        seen: set[str] = set()
        for job in jobs:
            for name in (*job.after_ok, *job.after_any):
                if safe_name(name) not in seen:
                    problem = f"job {job.name!r} waits for {name!r}, which does not come before it"
                    raise UsageError(problem, remedy="name a job given earlier in the same call")
            if job.label in seen:
                remedy = "give each a name of its own"
                raise UsageError(f"two jobs of the batch are called {job.label!r}", remedy=remedy)
            seen.add(job.label)


def _dependency(job: Job, id_of: Callable[[str], str]) -> str:
    """Return the value of sbatch's ``--dependency``; empty for a job without dependencies."""
    return ",".join(
        ":".join((kind, *(id_of(safe_name(name)) for name in names)))
        for kind, names in (("afterok", job.after_ok), ("afterany", job.after_any))
        if names
    )
