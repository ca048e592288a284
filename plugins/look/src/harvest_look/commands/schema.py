"""``harvest schema``."""

from __future__ import annotations

from typing import Annotated

import typer

from harvest.commands import complete
from harvest.toolkit.completion import words

__all__ = ["schema"]


def schema(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A record type or a view; all are listed without.",
            autocompletion=complete.schemas,
        ),
    ] = None,
    format: Annotated[  # noqa: A002 - the option's name
        str,
        typer.Option(
            metavar="FORM",
            help="table, json-schema, arrow or markdown.",
            autocompletion=words("table", "json-schema", "arrow", "markdown"),
        ),
    ] = "table",
    json: Annotated[bool, typer.Option("--json", help="The same as --format json-schema.")] = False,
) -> int:
    """List the record types and views, or show the columns of one: type, unit and meaning.

    Without NAME, the other forms than a table hold the record types alone.
    """
    from harvest_look.schema import print_schema  # late: help needs none of it

    return print_schema(name, "json-schema" if json else format)
