"""A job: one command line, or an array of them, and the jobs that must end before it begins."""

import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from harvest import UsageError

from .options import Options, words_of

ARRAY_TASKS: Final = 1_000
"""Maximum number of tasks of one array; Slurm's default MaxArraySize allows 1,001."""

_LABEL_LENGTH: Final = 60


def python(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command line that runs a module with this interpreter.

    The module path excludes the working directory, which may contain anybody's files.
    """
    return (sys.executable, "-P", "-m", module, *arguments)


def _argvs(commands: Iterable[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    made = []
    for command in commands:
        words = () if isinstance(command, str) else tuple(command)
        if not words or not all(isinstance(w, str) and "\0" not in w for w in words):
            remedy = "give each command as a sequence of words"
            raise UsageError(f"{command!r} is not a command line", where="batch job", remedy=remedy)
        made.append(words)
    return tuple(made)


@attrs.frozen(kw_only=True)
class Job:
    """Commands that Slurm runs, each once.

    name: shown by Slurm, in its safe form :attr:`label`; names the job within its batch.
    commands: command lines as sequences of words, run without a shell.  Several make an array.
    options: resources that each array task requests.
    after_ok, after_any: names of jobs of the same batch that must have succeeded, or only ended,
        before this one begins. This job is cancelled when that is no longer possible.
    per_task: number of commands that one array task runs in order; the default is the smallest
        that keeps the array within 1,000 tasks.
    array_limit: maximum number of array tasks that run at the same time.
    cwd: absolute directory in which the commands run; the default is the caller's.
    requeue: whether Slurm may restart a task when its node fails or the task is preempted;
        commands of the task that succeeded are then not repeated.

    Raises UsageError for an invalid job.
    """

    name: str
    commands: tuple[tuple[str, ...], ...] = attrs.field(converter=_argvs)
    options: Options = attrs.field(factory=Options)
    after_ok: tuple[str, ...] = attrs.field(default=(), converter=words_of)
    after_any: tuple[str, ...] = attrs.field(default=(), converter=words_of)
    per_task: int = attrs.field()
    array_limit: int | None = None
    cwd: str = attrs.field(factory=lambda: str(Path.cwd()), converter=str)
    requeue: bool = True

    @per_task.default
    def _few(self) -> int:
        return max(1, -(-len(self.commands) // ARRAY_TASKS))

    def __attrs_post_init__(self) -> None:
        if not self.commands:
            raise UsageError("a job needs a command", where=f"batch job {self.name!r}")
        if self.per_task < 1 or self.tasks > ARRAY_TASKS:
            raise UsageError(
                f"{len(self.commands)} commands, {self.per_task} to a task, make {self.tasks} "
                "array tasks",
                where=f"batch job {self.name!r}",
                remedy=f"choose per_task so that there are 1 to {ARRAY_TASKS}",
            )
        if self.array_limit is not None and self.array_limit < 1:
            raise UsageError(
                f"array_limit {self.array_limit} lets nothing run", where=f"batch job {self.name!r}"
            )

    @property
    def label(self) -> str:
        """The name for Slurm and the file system: letters, digits and ``.``, ``_``, ``-``."""
        return safe_name(self.name)

    @property
    def tasks(self) -> int:
        """Number of array tasks."""
        return -(-len(self.commands) // max(1, self.per_task))

    @property
    def is_array(self) -> bool:
        """Whether the job is an array rather than a single job."""
        return self.tasks > 1

    def document(self) -> dict[str, Any]:
        """Return the document that the job's tasks read when they begin."""
        read = attrs.filters.include("name", "cwd", "per_task", "array_limit", "commands")
        return attrs.asdict(self, filter=read)


def safe_name(name: str) -> str:
    """Return a name without unsafe characters; see :attr:`Job.label`."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", name).lstrip("-._")
    return safe[:_LABEL_LENGTH] or "job"


def render(job: Job, directory: Path) -> str:
    """Render the script of a job that starts in ``directory``, which contains its files.

    The script has directives of checked words, the user's set-up, and one fixed command. Its only
    path is the interpreter's: sbatch receives the job's directory, and the script starts there.
    """
    log = "%A_%a.out" if job.is_array else "%j.out"
    # Slurm interprets % and \ in the whole path, including the directory
    plain = not set("%\\") & set(str(directory))
    lines = [
        "#!/bin/bash",
        f"#SBATCH --job-name={job.label}",
        f"#SBATCH --output={f'log/{log}' if plain else '/dev/null'}",
        "#SBATCH --open-mode=append",
        f"#SBATCH --{'' if job.requeue else 'no-'}requeue",
    ]
    if job.is_array:
        limit = f"%{job.array_limit}" if job.array_limit else ""
        lines.append(f"#SBATCH --array=0-{job.tasks - 1}{limit}")
    lines += [f"#SBATCH {directive}" for directive in job.options.directives()]
    lines += ["", "batch_directory=$PWD"]
    if not plain:
        lines += [
            "task=${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}",
            'exec >>"log/${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}$task.out" 2>&1',
        ]
    if job.options.env_setup.strip():
        lines.append(job.options.env_setup.rstrip("\n"))
    lines.append(f'exec {shlex.join(python("harvest_cluster.batch.element"))} "$batch_directory"')
    return "\n".join(lines) + "\n"
