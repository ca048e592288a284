"""The commands as users see them: a line in the list of commands; arguments, options, help.

The list needs the table below alone.  The module of a command is imported when the command is
called, or asked for its help; what the command does is in a module of
:mod:`harvest.cli.actions`, so that help and completion start without the libraries of the work.
"""

from __future__ import annotations

from typing import Final

COMMANDS: Final = {
    "run": ("run:run", "Read sources, write them to sinks; skip what is unchanged."),
    "plugins": ("plugins:app", "List plugins; show, check or begin one."),
    "verify": (
        "verify:verify",
        "Check a dataset: checksums, rows, schemas, records, kept states, what does not belong.",
    ),
}
"""By name, in the order of help: the module and what in it, and the first sentence of its help."""

KINDS: Final = ("source", "sink", "engine", "view", "report", "rule", "exporter", "command")
"""Of what plugins offer."""
