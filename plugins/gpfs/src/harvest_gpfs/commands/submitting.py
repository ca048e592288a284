"""Common options of commands that can run as Slurm batch jobs."""

import functools
import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, get_type_hints

import attrs
import typer

from harvest import UsageError
from harvest.toolkit.completion import option
from harvest.toolkit.texts import printable_line
from harvest_cluster.batch import Batch, Job, Options

FOLDER: Final = ".harvest-batch"
"""Subdirectory for the batches of a directory; readers of Parquet ignore it."""

_option = functools.partial(option, rich_help_panel="Batch jobs")

_SHELL_LINE: Final = "Shell line run first in each job: 'module load python'. Repeatable."


@attrs.frozen(kw_only=True)
class Submission:
    """Options of a command that can run as Slurm batch jobs.

    ``options`` raises UsageError for an invalid option.
    """

    submit: Annotated[bool, _option("--submit", "Run as Slurm batch jobs.")] = False
    dry_run: Annotated[bool, _option("--dry-run", "With --submit: print the scripts only.")] = False
    wait: Annotated[
        bool, _option("--wait/--detach", "With --submit: wait for the jobs, or return immediately.")
    ] = True
    partition: Annotated[str | None, _option("NAME", "Slurm partition.")] = None
    account: Annotated[str | None, _option("NAME", "Slurm account.")] = None
    time: Annotated[str | None, _option("TIME", "Time limit: minutes, HH:MM:SS or D-HH:MM:SS.")] = (
        None
    )
    memory: Annotated[str | None, _option("SIZE", "Memory of a job: 4G.")] = None
    cpus: Annotated[int | None, _option("N", "CPUs of a job.", min=1)] = None
    env_setup: Annotated[list[str] | None, _option("LINE", _SHELL_LINE)] = None
    sbatch: Annotated[
        list[str] | None,
        _option("OPTION", "Further sbatch option: --sbatch=--qos=debug. Repeatable."),
    ] = None
    array_limit: Annotated[
        int | None, _option("N", "Array tasks that run at the same time.", min=1)
    ] = None
    per_task: Annotated[
        int | None,
        _option("N", "Lists, or ranges of a large list, per array task.", min=1),
    ] = None

    @property
    def wanted(self) -> bool:
        """Whether the command submits jobs or prints their scripts."""
        return self.submit or self.dry_run

    @property
    def options(self) -> Options:
        return Options(
            partition=self.partition,
            account=self.account,
            time=self.time,
            memory=self.memory,
            cpus=self.cpus,
            env_setup="\n".join(self.env_setup or ()),
            extra=tuple(self.sbatch or ()),
        )

    @property
    def engine_settings(self) -> dict[str, Any]:
        """The same options as settings of the engine slurm."""
        given = {k: v for k, v in attrs.asdict(self.options).items() if v not in (None, "", ())}
        return {**given, "wait": self.wait}

    def send(self, command: str, place: Path, *jobs: Job) -> int:
        """Print the jobs' scripts, or submit the jobs and wait if requested; return an exit code.

        command: its name; place: directory for scripts, states and logs.
        """
        place = place.expanduser().absolute()
        stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S-%f}"
        batch = Batch(place / FOLDER / f"{command}-{stamp}")
        if self.dry_run:
            for script in batch.scripts(*jobs):
                typer.echo(str(script))
            return 0
        ids = batch.submit(*jobs)
        typer.echo(f"submitted as Slurm job {' and '.join(map(str, ids))}")
        typer.echo(f"show the progress: harvest gpfs status {printable_line(str(place))}")
        if not self.wait:
            return 0
        try:
            jobs_now = batch.wait()
        except KeyboardInterrupt:
            batch.cancel()
            raise
        # the last job repeats everything that failed before it
        return 1 if jobs_now[-1].failed else 0


def submittable(*left_out: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Decorate a command with the options of ``Submission``, passed as the argument ``jobs``.

    left_out: names of options that the command does not have.
    """
    kinds = get_type_hints(Submission, include_extras=True)
    alone = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(f.name, alone, default=f.default, annotation=kinds[f.name])
        for f in attrs.fields(Submission)
        if f.name not in left_out
    ]

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(command)
        def run(**given: Any) -> int:
            jobs = Submission(**{option.name: given.pop(option.name) for option in added})
            return command(**given, jobs=jobs)

        signature = inspect.signature(command, eval_str=True)
        own = [option for name, option in signature.parameters.items() if name != "jobs"]
        run.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
        return run

    return decorate


def batches_of(directory: Path) -> list[Path]:
    """Return the directories of all batches that belong to a directory, oldest first.

    Raises UsageError if there is none.
    """
    places = [directory / FOLDER, directory / "_harvest" / "batch"]
    found = [entry for place in places if place.is_dir() for entry in place.iterdir()]
    if not found:
        said = "this directory has no batch jobs"
        remedy = "name the directory that --submit wrote to"
        raise UsageError(said, where=str(directory), remedy=remedy)
    return sorted(found, key=lambda entry: (entry.stat().st_mtime, entry.name))
