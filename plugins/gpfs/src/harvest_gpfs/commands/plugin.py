"""The commands of this distribution, alone: help imports neither its views nor its rules."""

from __future__ import annotations

from collections.abc import Iterable

from harvest import Command, hookimpl

harvest_api = 1


@hookimpl
def harvest_commands() -> Iterable[Command]:
    """The commands ``harvest gpfs ...``."""
    doc = "GPFS policy lists: split, convert, aggregate, churn, status."
    return [Command(name="gpfs", doc=doc, app="harvest_gpfs.commands.app:app")]
