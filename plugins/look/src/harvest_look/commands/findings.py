"""``harvest findings``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harvest.commands.options import Json

from . import completion

__all__ = ["findings"]


def findings(
    dataset: Annotated[
        Path | None,
        typer.Argument(metavar="DATASET", help="What a sink wrote; without, all rules are listed."),
    ] = None,
    rules: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            metavar="NAME",
            help="Ask this rule alone. Repeatable.",
            autocompletion=completion.rules,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A threshold, RULE.NAME=NUMBER, or a setting of the views, such as run=R1. "
            "Repeatable.",
            autocompletion=completion.finding_settings,
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Say what a dataset shows: conclusions of rules, the worst first, each with its evidence.

    Without a dataset, list the rules and their thresholds.
    """
    from harvest_look.findings import list_rules, show_findings  # late: help needs none

    if dataset is None:
        return list_rules(rules, json=json)
    return show_findings(dataset, rules, settings, json=json)
