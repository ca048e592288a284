"""Commands as Slurm batch jobs: what they have in common."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import attrs
import typer

from harvest import UsageError
from harvest.batch import Batch, Job, Options

__all__ = [
    "AccountOption", "ArrayLimitOption", "CpusOption", "DryRunOption", "EnvSetupOption",
    "MemoryOption", "PartitionOption", "PerTaskOption", "SbatchOption", "Submission",
    "SubmitOption", "TimeOption", "WaitOption", "batches_of", "shown",
]  # fmt: skip

FOLDER: Final = ".harvest-batch"
"""Where the batches of a directory are kept, below it; readers of Parquet pass it over."""

_PANEL: Final = "Batch jobs"

SubmitOption = Annotated[
    bool,
    typer.Option("--submit", help="As Slurm batch jobs, not here.", rich_help_panel=_PANEL),
]
DryRunOption = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="With --submit: print the scripts only.", rich_help_panel=_PANEL
    ),
]
WaitOption = Annotated[
    bool,
    typer.Option(
        "--wait/--detach",
        help="With --submit: wait for the jobs, or return at once.",
        rich_help_panel=_PANEL,
    ),
]
PartitionOption = Annotated[
    str | None, typer.Option("--partition", help="Slurm partition.", rich_help_panel=_PANEL)
]
AccountOption = Annotated[
    str | None, typer.Option("--account", help="Slurm account.", rich_help_panel=_PANEL)
]
TimeOption = Annotated[
    str | None,
    typer.Option(
        "--time", help="Time limit: minutes, HH:MM:SS or D-HH:MM:SS.", rich_help_panel=_PANEL
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option("--memory", help="Memory of a job, as 4G.", rich_help_panel=_PANEL),
]
CpusOption = Annotated[
    int | None, typer.Option("--cpus", min=1, help="CPUs of a job.", rich_help_panel=_PANEL)
]
EnvSetupOption = Annotated[
    list[str] | None,
    typer.Option(
        "--env-setup",
        metavar="LINE",
        help="Shell line run first in each job, as 'module load python'. Repeatable.",
        rich_help_panel=_PANEL,
    ),
]
SbatchOption = Annotated[
    list[str] | None,
    typer.Option(
        "--sbatch",
        metavar="OPTION",
        help="Further sbatch option, as --sbatch=--qos=debug. Repeatable.",
        rich_help_panel=_PANEL,
    ),
]
ArrayLimitOption = Annotated[
    int | None,
    typer.Option(
        "--array-limit", min=1, help="Array tasks that run at once.", rich_help_panel=_PANEL
    ),
]
PerTaskOption = Annotated[
    int | None,
    typer.Option(
        "--per-task",
        min=1,
        help="Lists, or ranges of a large one, that one array task reads.",
        rich_help_panel=_PANEL,
    ),
]


@attrs.frozen(kw_only=True)
class Submission:
    """How a command's jobs are submitted.

    command: its name; beside: the directory below which scripts, states and logs are kept.
    """

    command: str
    beside: Path
    options: Options
    array_limit: int | None = None
    wait: bool = True
    dry_run: bool = False

    @classmethod
    def of(
        cls,
        command: str,
        beside: Path,
        *,
        partition: str | None,
        account: str | None,
        time: str | None,
        memory: str | None,
        cpus: int | None,
        env_setup: Sequence[str] | None,
        sbatch: Sequence[str] | None,
        array_limit: int | None = None,
        wait: bool,
        dry_run: bool,
    ) -> Submission:
        """From the options of the command line; raises UsageError for one that does not fit."""
        return cls(
            command=command,
            beside=beside.expanduser().absolute(),
            options=Options(
                partition=partition,
                account=account,
                time=time,
                memory=memory,
                cpus=cpus,
                env_setup="\n".join(env_setup or ()),
                extra=tuple(sbatch or ()),
            ),
            array_limit=array_limit,
            wait=wait,
            dry_run=dry_run,
        )

    @property
    def engine_settings(self) -> dict[str, Any]:
        """The same as settings of the engine slurm."""
        told = {k: v for k, v in attrs.asdict(self.options).items() if v not in (None, "", ())}
        return {**told, "wait": self.wait}

    def send(self, *jobs: Job) -> int:
        """Print the jobs' scripts, or submit them and wait; an exit code."""
        stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S-%f}"
        batch = Batch(self.beside / FOLDER / f"{self.command}-{stamp}")
        if self.dry_run:
            for script in batch.scripts(*jobs):
                typer.echo(str(script))
            return 0
        ids = batch.submit(*jobs)
        typer.echo(f"submitted as Slurm job {' and '.join(map(str, ids))}")
        typer.echo(f"see how far it is: harvest gpfs status {shown(self.beside)}")
        if not self.wait:
            return 0
        try:
            jobs_now = batch.wait()
        except KeyboardInterrupt:
            batch.cancel()
            raise
        # the last job makes up for what failed before it
        return 1 if jobs_now[-1].failed else 0


def batches_of(directory: Path) -> list[Path]:
    """The directories of all batches that belong to a directory, oldest first.

    Raises UsageError where there is none.
    """
    places = [directory / FOLDER, directory / "_harvest" / "batch"]
    found = [entry for place in places if place.is_dir() for entry in place.iterdir()]
    if not found:
        raise UsageError(
            "no batch jobs were submitted for this directory",
            where=str(directory),
            remedy="name the directory that was written to with --submit",
        )
    return sorted(found, key=lambda entry: (entry.stat().st_mtime, entry.name))


def shown(value: object) -> str:
    """A name or message as one line that does nothing to a terminal."""
    text = os.fsencode(str(value)).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
