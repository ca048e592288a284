"""Entry point of the plugin for harvest: the commands ``harvest dask ...``."""

from harvest import Command, hookimpl


@hookimpl
def harvest_commands() -> list[Command]:
    """Return the command groups of this plugin."""
    return [
        Command(
            name="dask",
            doc="Dask clusters that run: capture what they do.",
            app="harvest_dask.commands:app",
        )
    ]
