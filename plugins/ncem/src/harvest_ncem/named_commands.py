"""Declaration of the commands, in a small module that ``harvest --help`` loads quickly."""

from harvest import Command, hookimpl


@hookimpl
def harvest_commands() -> list[Command]:
    """Declare the commands ``harvest ncem ...``."""
    return [
        Command(
            name="ncem",
            doc="4D-STEM scans: a draft of the study's file from the data.",
            app="harvest_ncem.commands:app",
        )
    ]
