"""What this plugin offers: commands that look: before a run, and at what it gave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from harvest import Command, hookimpl

harvest_api = 1

_BEFORE: Final = {
    "look": ("before:look", "Say what a directory is made of, and which command harvests it."),
    "detect": ("before:detect", "Say which sources can read a path, and how sure they are."),
    "preview": ("before:preview", "Show the first rows of a source; nothing is written."),
}
_AFTER: Final = {
    "show": (
        "dataset:show",
        "Say what a dataset holds, and which views and reports it can serve.",
    ),
    "schema": (
        "before:schema",
        "List the record types and views, or show the columns of one: type, unit and meaning.",
    ),
    "view": ("asking:view", "List the views, or show or export one of a dataset."),
    "report": (
        "asking:report",
        "List the reports, or show one over a dataset, or write it to a file or directory.",
    ),
    "findings": (
        "asking:findings",
        "Say what a dataset shows: conclusions of rules, the worst first, each with its evidence.",
    ),
    "export": (
        "dataset:export",
        "Write a dataset in a form that others can find, understand and cite.",
    ),
    "query": ("asking:query", "Run SQL over a dataset."),
    "runs": (
        "dataset:runs",
        "List the runs that wrote a dataset, and which of their states are kept.",
    ),
    "rollback": (
        "dataset:rollback",
        "Bring a dataset back to the state that an earlier run left.",
    ),
}
_AGAIN: Final = {
    "rejects": (
        "dataset:rejects",
        "Show the input units that could not be read, and why; or try to read them again.",
    ),
}
"""By name, in the order of help: where it is in ``commands``, and the first line of its help."""


@hookimpl
def harvest_commands() -> list[Command]:
    """What there is to harvest and what comes of it; what a dataset holds and what it shows."""
    return [
        *_in_order(_BEFORE, after="run"),
        *_in_order(_AFTER, after="plugins"),
        *_in_order(_AGAIN, after="verify"),
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


def _in_order(commands: Mapping[str, tuple[str, str]], *, after: str) -> Iterator[Command]:
    for name, (place, doc) in commands.items():
        yield Command(name=name, doc=doc, app=f"harvest_look.commands.{place}", after=after)
        after = name
