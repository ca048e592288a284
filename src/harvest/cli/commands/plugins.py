"""``harvest plugins``: what is installed, and what is wrong with it."""

from __future__ import annotations

from typing import Annotated

import typer

from harvest.commands.options import Json
from harvest.toolkit.completion import words

from . import KINDS

Kind = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help=f"All of this kind, with what each is for: {', '.join(KINDS[:-1])} or {KINDS[-1]}.",
        autocompletion=words(*KINDS),
    ),
]

app = typer.Typer(
    help="List plugins; show, check or begin one.",
    invoke_without_command=True,
    no_args_is_help=False,
)


@app.callback()
def plugins(ctx: typer.Context, kind: Kind = None, json: Json = False) -> int | None:
    """List plugins; show, check or begin one."""
    if ctx.invoked_subcommand is None:
        return list_plugins(kind, json=json)
    return None


@app.command("list")
def list_plugins(kind: Kind = None, json: Json = False) -> int:
    """List the plugins and what each offers, and those that cannot be used, with the remedy."""
    from harvest.cli.actions.plugins import print_declared, print_plugins  # late: help needs none

    return print_plugins(json=json) if kind is None else print_declared(kind, json=json)
