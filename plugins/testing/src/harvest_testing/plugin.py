"""Declarations of this distribution: the commands that check and begin plugins."""

from harvest import Command, declare

harvest_commands = declare(
    Command(
        name="plugins check",
        doc="Check a plugin's declarations, and try what it promises.",
        app="harvest_testing.commands:check",
    ),
    Command(
        name="plugins new",
        doc="Begin a plugin: a project that installs and passes its tests and checks as it is.",
        app="harvest_testing.commands:new",
    ),
)
