"""Declaration of the commands in a module of its own: help imports neither views nor rules."""

from harvest import Command, declare

harvest_commands = declare(
    Command(
        name="gpfs",
        doc="GPFS policy lists: split, convert, aggregate, churn, status.",
        app="harvest_gpfs.commands.app:app",
    )
)
