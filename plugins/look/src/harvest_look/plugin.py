"""What this plugin offers: commands that look: before a run, and at what it gave."""

from __future__ import annotations

from harvest import Command, hookimpl

__all__ = ["harvest_commands"]

harvest_api = 1


@hookimpl
def harvest_commands() -> list[Command]:
    """What there is to harvest and what comes of it; what a dataset holds and what it shows."""
    return [
        Command(
            name="look",
            doc="Say what a directory is made of, and which command harvests it.",
            app="harvest_look.commands.before:look",
            after="run",
        ),
        Command(
            name="detect",
            doc="Say which sources can read a path, and how sure they are.",
            app="harvest_look.commands.before:detect",
            after="look",
        ),
        Command(
            name="preview",
            doc="Show the first rows of a source; nothing is written.",
            app="harvest_look.commands.before:preview",
            after="detect",
        ),
        Command(
            name="show",
            doc="Say what a dataset holds, and which views and reports it can serve.",
            app="harvest_look.commands.after:show",
            after="plugins",
        ),
        Command(
            name="schema",
            doc="List the record types and views, or show the columns of one: type, unit and "
            "meaning.",
            app="harvest_look.commands.before:schema",
            after="show",
        ),
        Command(
            name="view",
            doc="List the views, or show or export one of a dataset.",
            app="harvest_look.commands.after:view",
            after="schema",
        ),
        Command(
            name="report",
            doc="List the reports, or show one over a dataset, or write it to a file or directory.",
            app="harvest_look.commands.after:report",
            after="view",
        ),
        Command(
            name="findings",
            doc="Say what a dataset shows: conclusions of rules, the worst first, each with its "
            "evidence.",
            app="harvest_look.commands.after:findings",
            after="report",
        ),
        Command(
            name="export",
            doc="Write a dataset in a form that others can find, understand and cite.",
            app="harvest_look.commands.after:export",
            after="findings",
        ),
        Command(
            name="query",
            doc="Run SQL over a dataset.",
            app="harvest_look.commands.after:query",
            after="export",
        ),
        Command(
            name="runs",
            doc="List the runs that wrote a dataset, and which of their states are kept.",
            app="harvest_look.commands.after:runs",
            after="query",
        ),
        Command(
            name="plugins show",
            doc="Show the settings of what plugins offer, or the thresholds of a rule.",
            app="harvest_look.commands.after:show_plugin",
        ),
    ]
