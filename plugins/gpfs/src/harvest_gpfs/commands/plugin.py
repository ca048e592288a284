"""Declaration of the commands in a module of its own: help imports neither views nor rules."""

from collections.abc import Iterable

from harvest import Command, hookimpl

harvest_api = 1


@hookimpl
def harvest_commands() -> Iterable[Command]:
    """Declare the commands ``harvest gpfs ...``."""
    doc = "GPFS policy lists: split, convert, aggregate, churn, status."
    return [Command(name="gpfs", doc=doc, app="harvest_gpfs.commands.app:app")]
