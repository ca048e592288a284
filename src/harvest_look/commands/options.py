"""Options that several of these commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

JsonRows = Annotated[bool, typer.Option("--json", help="Print one JSON object per row.")]


def setting_option(
    meaning: str, completion: Callable[..., Any], *, metavar: str = "KEY=VALUE"
) -> Any:
    """The option ``--set``, given once or more."""
    return typer.Option("--set", metavar=metavar, help=meaning, autocompletion=completion)
