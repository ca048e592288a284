"""Status of jobs, from Slurm's states of their tasks and from files that their commands wrote.

The tasks' own files hold facts that Slurm forgets minutes after a job's end. Slurm knows about
tasks that could not write: killed tasks, lost nodes, jobs that still wait.
"""

import os
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from .files import JOB, LOG, STATE, SUBMITTED, Submission, read
from .slurm import TaskId, TaskState


@attrs.frozen(kw_only=True)
class CommandStatus:
    """Status of one command.

    number: index among the job's commands, from 0.
    state: ``pending``, ``running``, ``done`` or ``failed``.
    active: whether its task still waits or runs in Slurm.
    exit_code, signal: how the command ended, if recorded.
    reason: why the command waits or failed, in words; "" if unknown.
    host: host on which the command last ran.
    """

    number: int
    state: str
    active: bool
    exit_code: int | None = None
    signal: int | None = None
    reason: str = ""
    host: str = ""


@attrs.frozen(kw_only=True)
class JobStatus:
    """Status of a job.

    name: name of the job; job_ids: Slurm's id of each submission; commands: status of each.
    log: directory of the tasks' output, in files ``<job id>_<task>.out``.
    """

    name: str
    job_ids: tuple[int, ...]
    commands: tuple[CommandStatus, ...]
    log: Path

    @property
    def counts(self) -> dict[str, int]:
        """Number of commands by state: pending, running, done, failed."""
        found = Counter(command.state for command in self.commands)
        return {state: found[state] for state in ("pending", "running", "done", "failed")}

    def to_dict(self) -> dict[str, Any]:
        """Convert to values for JSON: counts by state, and the status of each command."""
        return {
            "name": self.name,
            "job_ids": list(self.job_ids),
            "log": str(self.log),
            **self.counts,
            "commands": [attrs.asdict(command) for command in self.commands],
        }

    @property
    def active(self) -> bool:
        """Whether any command's task still waits or runs in Slurm."""
        return any(command.active for command in self.commands)

    @property
    def wordless(self) -> bool:
        """Whether a command failed without a record of how."""
        return any(command.exit_code is None and command.signal is None for command in self.failed)

    @property
    def failed(self) -> tuple[CommandStatus, ...]:
        """The commands that failed."""
        return tuple(command for command in self.commands if command.state == "failed")


class JobFiles:
    """The content of one job's files."""

    def __init__(self, directory: Path):
        self.directory = directory
        job = read(directory / JOB) or {}
        self.name: str = job.get("name", directory.name)
        self.per_task: int = job.get("per_task", 1)
        self.array_limit: int | None = job.get("array_limit")
        self.count: int = len(job.get("commands", ()))
        self.submissions = [Submission(**each) for each in read(directory / SUBMITTED) or ()]

    def latest(self) -> dict[int, TaskId]:
        """The last submission of each array task, by its number."""
        found: dict[int, TaskId] = {}
        for submission in self.submissions:
            if submission.tasks is None:
                found[0] = (submission.job_id, None)
            else:
                found.update({task: (submission.job_id, task) for task in submission.tasks})
        return found


def job_status(
    job: JobFiles, known: Mapping[TaskId, TaskState], accounted: Mapping[TaskId, TaskState]
) -> JobStatus:
    """Build a job's status from its files, Slurm's queue and Slurm's accounting."""
    latest = job.latest()
    states = job.directory / STATE
    # listed, not opened one by one: a network file system caches missing files for long
    written = {entry.name for entry in os.scandir(states)}
    commands = []
    for number in range(job.count):
        task = latest[number // job.per_task]
        name = f"{number}.json"
        own = read(states / name) if name in written else None
        commands.append(_command(number, own, known.get(task), accounted.get(task)))
    ids = tuple(submission.job_id for submission in job.submissions)
    return JobStatus(name=job.name, job_ids=ids, commands=tuple(commands), log=job.directory / LOG)


def _command(
    number: int, own: dict[str, Any] | None, queued: TaskState | None, ended: TaskState | None
) -> CommandStatus:
    active = queued is not None and queued.active
    host = own["host"] if own else ""
    status = partial(CommandStatus, number=number, active=active)
    if own and own["exit_code"] == 0:
        return status(state="done", exit_code=0, host=host)
    if queued is not None and active:
        if queued.waiting or own is None:
            return status(state="pending", reason="" if queued.reason == "None" else queued.reason)
        if own["state"] == "running":
            return status(state="running", host=host)
    if own and own["state"] == "ended":
        how = f"signal {own['signal']}" if own["signal"] else f"exit code {own['exit_code']}"
        code, signal = own["exit_code"], own["signal"]
        return status(state="failed", exit_code=code, signal=signal, reason=how, host=host)
    return status(state="failed", reason=_end(queued or ended), host=host)


def _end(ended: TaskState | None) -> str:
    """Describe the end of a task that recorded nothing itself."""
    if ended is not None and ended.state == "COMPLETED":
        return "its task ended without a result here: do all nodes see this directory?"
    if ended is not None and not ended.active:
        return f"its task ended as {ended.state}"
    return "its task left the queue without a result (killed, or its node was lost)"
