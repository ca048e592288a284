"""The commands of this plugin, by name alone, so that ``harvest --help`` imports no more."""

from __future__ import annotations

from harvest import Command, hookimpl


@hookimpl
def harvest_commands() -> list[Command]:
    """The commands ``harvest dask-runs ...``."""
    return [
        Command(
            name="dask-runs",
            doc="Write a Dask run as a trace for Perfetto.",
            app="harvest_dask_runs.commands:app",
        )
    ]
