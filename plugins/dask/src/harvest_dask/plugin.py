"""Entry point of the plugin for harvest: the commands ``harvest dask ...``."""

from harvest import Command, declare

harvest_commands = declare(
    Command(
        name="dask",
        doc="Dask clusters that run: capture what they do.",
        app="harvest_dask.commands:app",
    )
)
