"""What this plugin offers: one command."""

from __future__ import annotations

from harvest import Command, hookimpl

harvest_api = 1


@hookimpl
def harvest_commands() -> list[Command]:
    """The command that shows datasets in the browser."""
    return [
        Command(
            name="serve",
            doc="Show datasets in the browser, and answer other programs by HTTP; only read.",
            app="harvest_serve.command:serve",
            after="query",
        ),
    ]
