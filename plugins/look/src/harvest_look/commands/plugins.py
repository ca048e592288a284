"""``harvest plugins show``."""

from __future__ import annotations

from typing import Annotated

import typer

from harvest.commands.options import Json

from . import completion

__all__ = ["show"]


def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A source, sink, engine, view, report, rule or exporter; or a FILE.py with some.",
            autocompletion=completion.with_settings,
        ),
    ],
    json: Json = False,
) -> int:
    """Show the settings of a source, sink, engine, view or report, or the thresholds of a rule.

    Each with the values that it may have, its default and its meaning; of a source also the record
    types that it yields.
    """
    from harvest_look.plugins import print_plugin  # late: help needs none of it

    return print_plugin(name, json=json)
