"""The commands of this plugin, only by name, so that ``harvest --help`` imports little."""

from harvest import Command, hookimpl


@hookimpl
def harvest_commands() -> list[Command]:
    """Return the commands ``harvest dask-runs ...``."""
    return [
        Command(
            name="dask-runs",
            doc="Write a Dask run as a trace for Perfetto.",
            app="harvest_dask_runs.commands:app",
        )
    ]
