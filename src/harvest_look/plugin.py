"""The commands of this plugin: they inspect inputs before a run, and datasets after it."""

from collections.abc import Iterator
from typing import Final

from harvest import Command, declare

_COMMANDS: Final = {
    "run": {
        "before:look": "Show what a directory holds, and the command that harvests it.",
        "before:detect": "Show which sources can read a path, and how sure each is.",
        "before:preview": "Show the first rows of a source, without writing anything.",
    },
    "plugins": {
        "dataset:show": "Show what a dataset holds: rows, views and reports.",
        "before:schema": "List record types and views, or show the columns of one.",
        "asking:view": "List the views, or show or export one.",
        "asking:report": "List the reports, or show or write one.",
        "asking:findings": "List what rules find in a dataset, the worst first, with what to do "
        "next.",
        "dataset:export": "Write a dataset in another form: a research object, a database, a file.",
        "asking:query": "Run SQL over a dataset.",
        "dataset:runs": "List the runs that wrote a dataset, and the states kept for rollback.",
        "dataset:rollback": "Restore a dataset to the state that an earlier run left.",
    },
    "verify": {"dataset:rejects": "Show input that could not be read, and why; or read it again."},
}
"""Module, function and first line of help; each group follows the kernel's command at its key."""


def _top_level() -> Iterator[Command]:
    for after, commands in _COMMANDS.items():
        for place, doc in commands.items():
            name = place.partition(":")[2]
            yield Command(name=name, doc=doc, app=f"harvest_look.commands.{place}", after=after)
            after = name


harvest_commands = declare(
    *_top_level(),
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
)
