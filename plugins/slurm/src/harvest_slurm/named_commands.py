"""The commands of this plugin, by name alone, so that ``harvest --help`` imports no more."""

from __future__ import annotations

from harvest import Command, hookimpl


@hookimpl
def harvest_commands() -> list[Command]:
    """The commands ``harvest slurm ...``."""
    return [
        Command(
            name="slurm",
            doc="Slurm's accounting: one job in full, or one line a job.",
            app="harvest_slurm.commands:app",
        )
    ]
