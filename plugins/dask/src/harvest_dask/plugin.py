"""What harvest finds through its entry point: the commands ``harvest dask ...``."""

from __future__ import annotations

from harvest import CommandGroup, hookimpl

__all__ = ["harvest_commands"]


@hookimpl
def harvest_commands() -> list[CommandGroup]:
    """Command groups of this plugin."""
    return [
        CommandGroup(
            name="dask",
            doc="Dask clusters that run: capture what they do.",
            app="harvest_dask.commands:app",
        )
    ]
