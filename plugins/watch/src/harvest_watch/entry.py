"""``harvest schedule``: prints the entry that makes a run at set times."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from harvest import Session, UsageError
from harvest.commands import RunOptions, remark
from harvest.errors import suggestion
from harvest.plugins import manager
from harvest_toolkit.choices import with_settings

from .forms import FORMS, Entry
from .times import Times


def print_entry(
    options: RunOptions, *, every: str, form: str, name: str, report: str | None, output: str | None
) -> int:
    """Print the entry with which cron, systemd or Slurm runs a harvest at set times.

    Raises HarvestError for options with which each run would fail.
    """
    if form not in FORMS:
        raise UsageError(f"unknown form {form!r}", remedy=f"use {', '.join(FORMS)}")
    if (report is None) != (output is None):
        raise UsageError("--report and -o belong together", remedy="write --report NAME -o FILE")
    recipe = options.recipe()
    recipe.refuse_pipes("a scheduled run")
    session = Session(recipe)
    refuse_streams(session, "a scheduled run")
    for choice in session.choices:
        remark(choice)
    session.check()
    if options.hold_secrets():
        raise UsageError(
            "the options hold a password or another secret, which others could read there",
            remedy="keep it in a file that only you can read: a recipe or a password file",
        )
    after = _report(session, report, output) if report and output else ()
    python = os.path.abspath(sys.executable)  # noqa: PTH100 - an environment is a link
    command = Path(python).with_name("harvest")
    entry = Entry(
        name=name,
        times=Times.parse(every),
        program=[str(command)] if command.is_file() else [python, "-m", "harvest"],
        arguments=tuple(_arguments(options)),
        directory=str(Path.cwd()),
        after=after,
    )
    print(FORMS[form](entry), end="")
    return 0


def _report(session: Session, text: str, output: str) -> tuple[str, ...]:
    """Return the words of ``harvest report``; UsageError for an unknown report or setting."""
    name, settings = with_settings(text, "--report")
    spec = manager().report(name)
    for key in settings:
        if key not in spec.settings:
            raise UsageError(
                f"report {name!r} has no setting {key!r}",
                where="--report",
                remedy=suggestion(key, spec.settings),
            )
    if len(session.sinks) > 1:
        raise UsageError(
            f"the run has {len(session.sinks)} sinks, and a report is of one dataset",
            where="--report",
            remedy="schedule the report with one sink",
        )
    dataset = os.path.abspath(session.sinks[0].location)  # noqa: PTH100 - no link is followed
    given = [f"--set={key}={value}" for key, value in settings.items()]
    return ("report", name, dataset, *given, f"--output={os.path.abspath(output)}")  # noqa: PTH100


def refuse_streams(session: Session, what: str) -> None:
    """Raise UsageError for a sink without stored state: ``what`` would start over each time."""
    for sink in session.sinks:
        if sink.streams:
            raise UsageError(
                f"{what} needs a dataset, which knows what was read before",
                where=sink.location,
                remedy="write to a directory; harvest run passes rows on",
            )


def _arguments(options: RunOptions) -> Iterator[str]:
    """Yield the words of ``harvest run`` with these options."""
    yield "run"
    if options.file is not None:
        yield os.path.abspath(options.file)  # noqa: PTH100 - no link is followed
    said = {"source": options.sources, "sink": options.sinks, "set": options.settings}
    for key, given in {**said, **options.run}.items():
        # what may be repeated is a list
        for value in given if isinstance(given, list) else [given]:
            if value is not None:
                yield f"--{key.replace('_', '-')}={value}"
    if options.wait_s:
        yield f"--wait={options.wait_s:g}"
