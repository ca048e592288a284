"""What this plugin offers: commands that look: before a run, and at what it gave."""

from __future__ import annotations

from typing import Final

from harvest import Command, hookimpl

harvest_api = 1

_WHERE: Final = {
    "before": ("look", "detect", "preview", "schema"),
    "asking": ("view", "report", "findings", "query"),
    "dataset": ("show", "export", "runs", "rollback", "rejects"),
}
"""The commands by the module of ``commands`` that has a function of the name."""

_COMMANDS: Final = {
    "run": {
        "look": "Say what a directory is made of, and which command harvests it.",
        "detect": "Say which sources can read a path, and how sure they are.",
        "preview": "Show the first rows of a source; nothing is written.",
    },
    "plugins": {
        "show": "Say what a dataset holds, and which views and reports it can serve.",
        "schema": "List the record types and views, or show the columns of one: type, unit and "
        "meaning.",
        "view": "List the views, or show or export one of a dataset.",
        "report": "List the reports, or show one over a dataset, or write it to a file or "
        "directory.",
        "findings": "Say what a dataset shows: conclusions of rules, the worst first, each with "
        "its evidence.",
        "export": "Write a dataset in a form that others can find, understand and cite.",
        "query": "Run SQL over a dataset.",
        "runs": "List the runs that wrote a dataset, and which of their states are kept.",
        "rollback": "Bring a dataset back to the state that an earlier run left.",
    },
    "verify": {
        "rejects": "Show the input units that could not be read, and why; or try to read them "
        "again.",
    },
}
"""The first line of the help of each, in its order behind one of the kernel's commands."""


@hookimpl
def harvest_commands() -> list[Command]:
    """What there is to harvest and what comes of it; what a dataset holds and what it shows."""
    module = {name: home for home, names in _WHERE.items() for name in names}
    found = []
    for after, commands in _COMMANDS.items():
        for name, doc in commands.items():
            app = f"harvest_look.commands.{module[name]}:{name}"
            found.append(Command(name=name, doc=doc, app=app, after=after))
            after = name
    return [
        *found,
        Command(
            name="plugins available",
            doc="List the plugins that the project publishes, and which of them are here.",
            app="harvest_look.commands.dataset:available",
        ),
        Command(
            name="plugins show",
            doc="Show the settings of what plugins offer, or the thresholds of a rule.",
            app="harvest_look.commands.dataset:show_plugin",
        ),
    ]
