"""The tree of commands.

The program's own commands are declared in :mod:`harvest.cli.commands`, and import what they work
with when they are called.  Plugins' groups of commands are listed from their declarations alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import harvest
from harvest.errors import UsageError

from .commands import (
    export,
    findings,
    look,
    plugins,
    preview,
    query,
    report,
    run,
    runs,
    schedule,
    schema,
    verify,
    view,
    watch,
)

if TYPE_CHECKING:
    from harvest.plugins.registry import PluginManager

__all__ = ["app"]


class HarvestGroup(TyperGroup):
    """The top level: our commands, then the groups that plugins declare."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order in which help shows them."""
        own = super().list_commands(ctx)
        return [*own, *(name for name in _plugins().commands if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command; for a plugin's group only a stand-in that carries its line of help."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return _plain(own)
        found = _plugins()
        if not found.claims.of("commands", cmd_name):
            if missing := found.missing("command", cmd_name):
                raise UsageError(f"unknown command {cmd_name!r}", remedy=f"install {missing}")
            return None
        spec = found.commands.get(cmd_name)
        help_ = spec.doc if spec is not None else "Declared by several plugins."
        return _plain(TyperCommand(name=cmd_name, help=help_))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command to be called: here a plugin's group is imported."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and super().get_command(ctx, name) is None:
            plugin_app = _plugins().load_app(name)
            command = plugin_app
            if isinstance(plugin_app, typer.Typer):
                command = typer.main.get_group(plugin_app)
            command.name = name
            _plain(command)
        return name, command, rest


def _plain(command: Any) -> Any:
    """A command, and those below it, whose help looks as that of all others.

    It is plain text, in which brackets stand as they are; and the first sentence of a command
    stands whole in the list of commands, where a narrow terminal would have it cut.
    """
    command.rich_markup_mode = None
    first = " ".join((command.help or "").partition("\n\n")[0].split())
    command.short_help = command.short_help or f"{first.partition('. ')[0].rstrip('.')}."
    for inner in getattr(command, "commands", {}).values():
        _plain(inner)
    return command


def _plugins() -> PluginManager:
    from harvest.plugins.registry import manager  # late: a command of our own needs none

    return manager()


app = typer.Typer(
    name="harvest",
    cls=HarvestGroup,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: importing rich would triple its time
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Collect the metadata that scientific runs leave behind, as one model.",
    epilog="Example: harvest run --source mofka-dask:runs/R1 --sink parquet:out",
)


def _version(value: bool) -> None:
    if value:
        print(f"harvest {harvest.__version__}")
        raise typer.Exit


def _load(ctx: typer.Context, value: list[str] | None) -> list[str] | None:
    """Load the files before the command is looked for, which one of them may bring."""
    for path in value or ():
        if not ctx.resilient_parsing:
            _plugins().add_file(Path(path))
    return value


@app.callback()
def program(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE.py",
            callback=_load,
            is_eager=True,
            help="Use a plugin that is a Python file: its views, reports and record types, too. "
            "Repeatable.",
        ),
    ] = None,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks of errors. Works anywhere.")
    ] = False,
) -> None:
    """Collect the metadata that scientific runs leave behind, as one model."""


app.command("run")(run.run)
app.command("watch")(watch.watch)
app.command("schedule")(schedule.schedule)
app.command("look")(look.look)
app.command("detect")(preview.detect)
app.command("preview")(preview.preview)
app.add_typer(plugins.app, name="plugins")
app.command("show")(look.show)
app.command("schema")(schema.schema)
app.command("view")(view.view)
app.command("report")(report.report)
app.command("findings")(findings.findings)
app.command("export")(export.export)
app.command("query")(query.query)
app.command("runs")(runs.runs)
app.command("rollback")(runs.rollback)
app.command("verify")(verify.verify)
app.command("rejects")(verify.rejects)
