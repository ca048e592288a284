"""What this distribution brings besides a library: the command that shows and writes reports."""

from __future__ import annotations

from harvest import Command, hookimpl

__all__ = ["harvest_commands"]

harvest_api = 1


@hookimpl
def harvest_commands() -> list[Command]:
    """The command ``harvest report``."""
    return [
        Command(
            name="report",
            doc="List the reports, or show one over a dataset, or write it to a file or directory.",
            app="harvest_report.command:report",
            after="view",
        )
    ]
