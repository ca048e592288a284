"""The commands of this plugin, by name alone, so that ``harvest --help`` imports no more."""

from __future__ import annotations

from harvest import Command, hookimpl


@hookimpl
def harvest_commands() -> list[Command]:
    """The commands ``harvest ncem ...``."""
    return [
        Command(
            name="ncem",
            doc="4D-STEM scans: a draft of the study's file from the data.",
            app="harvest_ncem.commands:app",
        )
    ]
