"""The tree of commands.

A command is listed by its name and a line of help.  The code that takes its options, a module of
:mod:`harvest.cli.commands` or of a plugin, is imported when the command is called.
"""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import harvest
from harvest.errors import UsageError

from .commands import COMMANDS

if TYPE_CHECKING:
    from harvest.plugins.registry import PluginManager

__all__ = ["app", "load_command"]


class HarvestGroup(TyperGroup):
    """The top level: our commands, then the groups that plugins declare."""

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.commands = {name: _stand_in(name, line) for name, (_, line) in COMMANDS.items()}

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order in which help shows them."""
        own = super().list_commands(ctx)
        return [*own, *(name for name in _plugins().commands if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A stand-in for a command, which carries its line of help."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        found = _plugins()
        if not found.claims.of("commands", cmd_name):
            if missing := found.missing("command", cmd_name):
                raise UsageError(f"unknown command {cmd_name!r}", remedy=f"install {missing}")
            return None
        spec = found.commands.get(cmd_name)
        return _stand_in(cmd_name, spec.doc if spec is not None else "Declared by several plugins.")

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command to be called: here it is imported."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else load_command(name), rest


def load_command(name: str) -> Any:
    """Import a command of the program, or a plugin's group of commands.

    Raises UsageError for an unknown name, PluginError where a plugin's cannot be imported.
    """
    found = _plugins().load_app(name) if name not in COMMANDS else _of_program(COMMANDS[name][0])
    if isinstance(found, typer.Typer):
        found = typer.main.get_group(found)
    found.name = name
    return _plain(found)


def _of_program(target: str) -> Any:
    found = resolve_name(f"harvest.cli.commands.{target}")
    if isinstance(found, typer.Typer):
        return found
    alone = typer.Typer(add_completion=False)
    alone.command()(found)
    return typer.main.get_command(alone)


def _stand_in(name: str, line: str) -> TyperCommand:
    return TyperCommand(name=name, help=line, short_help=line)


def _plain(command: Any) -> Any:
    """A command, and those below it, whose help looks as that of all others.

    It is plain text, in which brackets stand as they are; and the first sentence of a command
    stands whole in a list of commands, where a narrow terminal would have it cut.
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
