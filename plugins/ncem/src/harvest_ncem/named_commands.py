"""Declaration of the commands, in a small module that ``harvest --help`` loads quickly."""

from harvest import Command, declare

harvest_commands = declare(
    Command(
        name="ncem",
        doc="4D-STEM scans: a draft of the study's file from the data.",
        app="harvest_ncem.commands:app",
    )
)
