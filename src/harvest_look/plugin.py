"""The commands of this plugin: they inspect inputs before a run, and datasets after it."""

from __future__ import annotations

from typing import Final

from harvest import Command, hookimpl

harvest_api = 1

_WHERE: Final = {
    "before": ("look", "detect", "preview", "schema"),
    "asking": ("view", "report", "findings", "query"),
    "dataset": ("show", "export", "runs", "rollback", "rejects"),
}
"""Commands by the module of ``commands`` that has a function of the same name."""

_COMMANDS: Final = {
    "run": {
        "look": "Show what a directory holds, and the command that harvests it.",
        "detect": "Show which sources can read a path, and how sure each is.",
        "preview": "Show the first rows of a source, without writing anything.",
    },
    "plugins": {
        "show": "Show what a dataset holds: rows, views and reports.",
        "schema": "List record types and views, or show the columns of one.",
        "view": "List the views, or show or export one.",
        "report": "List the reports, or show or write one.",
        "findings": "List what rules find in a dataset, the worst first, with what to do next.",
        "export": "Write a dataset in another form: a research object, a database, a file.",
        "query": "Run SQL over a dataset.",
        "runs": "List the runs that wrote a dataset, and the states kept for rollback.",
        "rollback": "Restore a dataset to the state that an earlier run left.",
    },
    "verify": {
        "rejects": "Show input that could not be read, and why; or read it again.",
    },
}
"""First lines of help; each group follows the kernel's command that is its key."""


@hookimpl
def harvest_commands() -> list[Command]:
    """Declare the commands, each group behind a command of the kernel."""
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
            doc="List the plugins that the project publishes, and which are installed.",
            app="harvest_look.commands.dataset:available",
        ),
        Command(
            name="plugins show",
            doc="Show the settings of a source, view or other offer, or the thresholds of a rule.",
            app="harvest_look.commands.dataset:show_plugin",
        ),
    ]
