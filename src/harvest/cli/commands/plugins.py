"""``harvest plugins``: what is installed, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harvest.cli import complete
from harvest.cli.options import Json
from harvest.toolkit.completion import words

__all__ = ["app"]

KINDS = ("source", "sink", "engine", "view", "report", "rule", "exporter", "command")

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


@app.command("available")
def available(json: Json = False) -> int:
    """List the plugins that the project publishes: what each reads or writes, and if it is here."""
    from harvest.cli.actions.plugins import print_available  # late: help needs none of it

    return print_available(json=json)


@app.command("show")
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A source, sink, engine, view, report, rule or exporter; or a FILE.py with some.",
            autocompletion=complete.with_settings,
        ),
    ],
    json: Json = False,
) -> int:
    """Show the settings of a source, sink, engine, view or report, or the thresholds of a rule.

    Each with the values that it may have, its default and its meaning; of a source also the record
    types that it yields.
    """
    from harvest.cli.actions.plugins import print_plugin  # late: help needs none of it

    return print_plugin(name, json=json)


@app.command("check")
def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Plugins or FILE.py; without, all installed ones."),
    ] = None,
    sample: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Input that the plugin's sources can read, to try more."),
    ] = None,
    json: Json = False,
) -> int:
    """Check a plugin's declarations, and try what it promises. Ends with 1 on a problem.

    It is the quick part of the conformance kit for plugins' own tests, harvest_testing.
    """
    from harvest.cli.actions.check import check_plugins  # late: help needs none of it

    return check_plugins(names or (), sample, json=json)


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the plugin, such as my-format.")],
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="source (the default), sink, view or report; several separated by commas, or "
            "the option repeated.",
            autocompletion=words("source", "sink", "view", "report"),
        ),
    ] = None,
    directory: Annotated[
        Path, typer.Option("-C", "--directory", metavar="DIR", help="Where to put the project.")
    ] = Path(),
    columnar: Annotated[
        bool,
        typer.Option(
            "--columnar", help="A source that reads many lines at a time, for large inputs."
        ),
    ] = False,
    url: Annotated[
        str, typer.Option(metavar="URL", help="Where the project is at home, for its package page.")
    ] = "",
    add: Annotated[
        bool, typer.Option("--add", help="Add kinds to the project that is there.")
    ] = False,
) -> int:
    """Begin a plugin: a project that installs and passes its tests and checks as it is.

    It comes with sample data, harvest's conformance kit, and a pipeline that publishes a tag.
    """
    from harvest.cli.actions.plugins import begin_plugin  # late: help needs none of it

    return begin_plugin(name, kind or ["source"], directory, columnar=columnar, url=url, add=add)
