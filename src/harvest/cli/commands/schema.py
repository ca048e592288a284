"""``harvest schema``."""

from __future__ import annotations

from typing import Annotated

import typer

from harvest.cli import complete

__all__ = ["schema"]


def schema(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="TYPE",
            help="A record type; all when left out.",
            autocompletion=complete.record_types,
        ),
    ] = None,
    format: Annotated[  # noqa: A002 - the option's name
        str, typer.Option(help="table, json-schema, arrow or markdown.", metavar="FORMAT")
    ] = "table",
    json: Annotated[bool, typer.Option("--json", help="The same as --format json-schema.")] = False,
) -> int:
    """Show the record types, or the columns of one."""
    from harvest.cli.actions.schema import print_schema  # late: help needs none of it

    return print_schema(name, "json-schema" if json else format)
