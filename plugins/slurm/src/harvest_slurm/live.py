"""Asks a cluster itself: runs ``sacct`` for slices of a time window.

``sacct -S a -E b`` lists jobs that were eligible before b and had not ended before a. Of their
steps it lists those that ran between a and b. A job that runs across a boundary shows in two
slices. Each job counts in one slice only: the one in which it ended, or the last one if it had not
ended when the window closes. The same holds for each step, by its own end. Jobs that were cancelled
before they became eligible show in no such list; one more call asks for cancelled jobs by their end
and keeps these. Held jobs that never became eligible are in no listing of sacct.
"""

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from harvest import Partition, ReadContext, SourceError
from harvest_toolkit.programs import run_program

from .config import SlurmConfig
from .dump import assemble
from .read.form import Layout
from .read.text import read_text
from .rows.selection import Selection, Slice, conditions_of
from .values.convert import Context
from .values.fields import FIELDS, FREE
from .window import ORIGIN, Window

DELIMITER: Final = "\x1f\x1e\x1f"
"""A delimiter that users cannot type at a prompt."""

_SAID_BY_OTHERS: Final = frozenset(
    ["ElapsedRaw", "CPUTime", "TimelimitRaw", "PlannedCPU", "ResvCPU", "NCPUS", "ConsumedEnergy"]
)

WANTED: Final = sorted(
    (item.name for item in FIELDS if item.name not in _SAID_BY_OTHERS),
    key=lambda name: (name in FREE, name == "JobName"),
)
"""The requested fields, if this version of sacct has them; fields with free text come last."""


def read_slice(partition: Partition, config: SlurmConfig, ctx: ReadContext) -> Iterator[Any]:
    """Return batches of one slice."""
    options = {name: datetime.fromisoformat(value) for name, value in partition.options.items()}
    window = Window(options["since"], options["until"], config.slice_days)
    stray = "start" not in options
    start, stop = options.get("start", window.since), options.get("stop", window.until)
    columns = _fields(config, ctx)
    layout = Layout(kind="text", columns=tuple(columns), delimiter=DELIMITER)
    # sacct selects users; steps have no user, so they cannot be selected here
    conditions = [one for one in conditions_of(config) if one.setting != "users"]
    selection = Selection(conditions, ORIGIN, place=Slice(window, start, stop, stray))
    command = [
        config.sacct,
        *("--parsable2", "--noheader", "--duplicates", "--noconvert"),
        f"--delimiter={DELIMITER}",
        f"--format={','.join(columns)}",
        f"--starttime={start:%Y-%m-%dT%H:%M:%S}",
        f"--endtime={stop:%Y-%m-%dT%H:%M:%S}",
        f"--user={','.join(config.users)}" if config.users else "--allusers",
    ]
    if stray:
        command += ["--state=CANCELLED,DEADLINE", "--allocations"]
    convert = Context(ZoneInfo("UTC"), DELIMITER)
    output = _run(command, "check that the accounting daemon answers: sacctmgr show cluster", ctx)
    with output.open("rb") as stream:
        yield from assemble(read_text(stream, layout, ctx), selection, convert, ctx)


def _fields(config: SlurmConfig, ctx: ReadContext) -> list[str]:
    listed = _run([config.sacct, "--helpformat"], f"run {config.sacct} --helpformat by hand", ctx)
    known = {name.lower() for name in listed.read_text().split()}
    fields = [name for name in WANTED if name.lower() in known]
    if "JobID" not in fields:
        raise SourceError(
            f"{config.sacct} --helpformat lists no field JobID",
            where=ORIGIN,
            remedy="set slurm.sacct to Slurm's sacct",
        )
    return fields


def _run(command: list[str], failed: str, ctx: ReadContext) -> Path:
    """Run sacct, and return the file of its output; failed: the remedy if it fails.

    It prints times in seconds since 1970, and none of the user's defaults apply.
    """
    kept = {name: text for name, text in os.environ.items() if not name.startswith("SACCT_")}
    return run_program(
        command,
        ctx,
        where=ORIGIN,
        env={**kept, "TZ": "UTC", "SLURM_TIME_FORMAT": "%s", "LC_ALL": "C.UTF-8"},
        missing="run this where Slurm is installed, set slurm.sacct to its path, or harvest a "
        "file written by sacct",
        failed=failed,
    )
