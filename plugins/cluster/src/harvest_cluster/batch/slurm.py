"""Slurm's own commands, called without a shell: sbatch, squeue, sacct, scancel."""

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

import attrs

from harvest import HarvestError, UsageError

from .files import Submission

_TIMEOUT_S: Final = 120.0

_KEPT: Final = frozenset(("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT"))

_WAITING: Final = (
    *("CONFIGURING", "PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD"),
    "SPECIAL_EXIT",
)
_SPAN: Final = re.compile(r"(\d+)(?:-(\d+))?(?::(\d+))?")
_RUNNING: Final = frozenset(
    ("COMPLETING", "RESIZING", "RUNNING", "SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED")
)


class SlurmError(HarvestError):
    """A Slurm command failed; a retry may succeed."""


@attrs.frozen
class TaskState:
    """A task's state as Slurm names it, and Slurm's reason if there is one."""

    state: str
    reason: str = ""

    @property
    def waiting(self) -> bool:
        """Whether the task waits to begin, for the first time or again."""
        return self.state in _WAITING

    @property
    def active(self) -> bool:
        """Whether the task waits or runs."""
        return self.waiting or self.state in _RUNNING


TaskId = tuple[int, int | None]
"""A job id and, for an array, the task's number."""


def submit(
    script: Path, directory: Path, *, array: str | None, dependency: str | None
) -> tuple[int, str]:
    """Submit a script that starts in ``directory``; return the job's id and cluster name."""
    options = ["--parsable", f"--chdir={directory}"]
    if array is not None:
        options.append(f"--array={array}")
    if dependency is not None:
        options += [f"--dependency={dependency}", "--kill-on-invalid-dep=yes"]
    answer = _call(["sbatch", *options, str(script)]).strip()
    number, _, cluster = answer.partition(";")
    if not number.isdigit():
        raise SlurmError(
            f"sbatch gave no job id but {answer!r}", remedy="see sbatch's configuration"
        )
    return int(number), cluster


def queued_tasks(submissions: Iterable[Submission]) -> dict[TaskId, TaskState]:
    """Return the tasks that Slurm still knows, including those that ended some minutes ago."""
    found: dict[TaskId, TaskState] = {}
    for cluster, ids in _by_cluster(submissions).items():
        text = _call(
            ["squeue", *_on(cluster), "--noheader", "--all", "--array", "--states=all",
             f"--user={os.getuid()}", "--format=%F|%K|%T|%r"]
        )  # fmt: skip
        for line in text.splitlines():
            words = line.strip().split("|", 3)
            if len(words) == 4 and words[0].isdigit() and int(words[0]) in ids:
                task = int(words[1]) if words[1].isdigit() else None
                found[int(words[0]), task] = TaskState(words[2], words[3])
    return found


def ended_tasks(submissions: Iterable[Submission]) -> dict[TaskId, TaskState]:
    """Return final states from Slurm's accounting; empty on a cluster without accounting."""
    found: dict[TaskId, TaskState] = {}
    for cluster, ids in _by_cluster(submissions).items():
        try:
            text = _call(
                ["sacct", *_on(cluster), "--noheader", "--parsable2", "--allocations",
                 f"--jobs={','.join(map(str, sorted(ids)))}", "--format=JobID,State"]
            )  # fmt: skip
        except (SlurmError, UsageError):  # no accounting, or none of it for us
            continue
        for line in text.splitlines():
            name, _, state = line.partition("|")
            job, _, tasks = name.partition("_")
            if job.isdigit():
                # "CANCELLED by 1000"
                ended = TaskState(state.split(" ")[0])
                found.update({(int(job), task): ended for task in _numbers(tasks)})
    return found


def _numbers(tasks: str) -> list[int | None]:
    """Return array tasks by number: ``3``, or ``[0-3,8%2]`` for tasks that never began."""
    spans = _SPAN.findall(tasks.partition("%")[0])
    numbers = [range(int(a), int(b or a) + 1, int(step or 1)) for a, b, step in spans]
    return list(chain.from_iterable(numbers)) if tasks else [None]


def cancel(submissions: Iterable[Submission]) -> None:
    """Cancel all jobs and tasks that have not ended."""
    for cluster, ids in _by_cluster(submissions).items():
        _call(["scancel", *_on(cluster), "--quiet", *map(str, sorted(ids))])


def _by_cluster(submissions: Iterable[Submission]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for submission in submissions:
        found.setdefault(submission.cluster, set()).add(submission.job_id)
    return found


def _on(cluster: str) -> list[str]:
    return [f"--clusters={cluster}"] if cluster else []


def _environment() -> dict[str, str]:
    """Return the environment without variables of the current job: sbatch would pass them on."""
    kept = [name for name in os.environ if name in _KEPT or not name.startswith("SLURM_")]
    return {**{name: os.environ[name] for name in kept}, "LC_ALL": "C.UTF-8"}


def _call(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
            env=_environment(),
        )
    except FileNotFoundError as error:
        raise UsageError(
            f"{command[0]} is not on the PATH",
            remedy="run this where Slurm's commands are, such as a login node, "
            "or use another engine",
        ) from error
    except subprocess.TimeoutExpired as error:
        raise SlurmError(
            f"{command[0]} did not answer within {_TIMEOUT_S:.0f} s", remedy="try again"
        ) from error
    if done.returncode != 0:
        message = done.stderr.decode("utf-8", "backslashreplace").strip() or "without a message"
        problem = f"{command[0]} ended with status {done.returncode}: {message}"
        raise SlurmError(problem, remedy="see the message; check partition, account and limits")
    return done.stdout.decode("utf-8", "backslashreplace")
