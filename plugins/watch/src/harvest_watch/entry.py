"""``harvest schedule``: the entry that has a run made at set times."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from harvest import Session, UsageError
from harvest.commands import RunOptions, remark

from .schedule.forms import FORMS, Entry
from .schedule.times import Times


def print_entry(options: RunOptions, *, every: str, form: str, name: str) -> int:
    """Print what makes cron, systemd or Slurm run a harvest at set times."""
    if form not in FORMS:
        raise UsageError(f"unknown form {form!r}", remedy=f"use {', '.join(FORMS)}")
    _check(options)
    entry = Entry(
        name=name,
        times=Times.parse(every),
        program=_program(),
        arguments=tuple(_arguments(options)),
        directory=str(Path.cwd()),
    )
    print(FORMS[form](entry), end="")
    return 0


def _check(options: RunOptions) -> None:
    """Raise HarvestError for what would fail: better now than by a mail at night."""
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


def refuse_streams(session: Session, what: str) -> None:
    """Raise UsageError for a sink that keeps nothing, of which ``what`` would begin anew."""
    for sink in session.sinks:
        if sink.streams:
            raise UsageError(
                f"{what} needs a dataset, which knows what was read before",
                where=sink.location,
                remedy="write to a directory; harvest run passes rows on",
            )


def _arguments(options: RunOptions) -> Iterator[str]:
    """The words of ``harvest run`` with these options."""
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


def _program() -> tuple[str, ...]:
    """The words that start this installation's harvest."""
    python = os.path.abspath(sys.executable)  # noqa: PTH100 - an environment is a link
    command = Path(python).with_name("harvest")
    return (str(command),) if command.is_file() else (python, "-m", "harvest")
