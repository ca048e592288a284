"""The commands of this plugin, only by name, so that ``harvest --help`` imports little."""

from harvest import Command, declare

harvest_commands = declare(
    Command(
        name="dask-runs",
        doc="Write a Dask run as a trace for Perfetto.",
        app="harvest_dask_runs.commands:app",
    )
)
