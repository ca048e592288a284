"""What this plugin offers: four commands, which look before a run."""

from __future__ import annotations

from harvest import Command, hookimpl

__all__ = ["harvest_commands"]

harvest_api = 1


@hookimpl
def harvest_commands() -> list[Command]:
    """The commands that say what there is to harvest, and what comes of it."""
    return [
        Command(
            name="look",
            doc="Say what a directory is made of, and which command harvests it.",
            app="harvest_look.commands:look",
            after="run",
        ),
        Command(
            name="detect",
            doc="Say which sources can read a path, and how sure they are.",
            app="harvest_look.commands:detect",
            after="look",
        ),
        Command(
            name="preview",
            doc="Show the first rows of a source; nothing is written.",
            app="harvest_look.commands:preview",
            after="detect",
        ),
        Command(
            name="schema",
            doc="List the record types and views, or show the columns of one: type, unit and "
            "meaning.",
            app="harvest_look.commands:schema",
            after="show",
        ),
    ]
