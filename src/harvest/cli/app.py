"""The tree of commands.

A command is listed with its name and a line of help. The code for its options, in
:mod:`harvest.cli.commands` or in a plugin, is imported when the command is called.
"""

from __future__ import annotations

import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

import harvest
from harvest.errors import PluginError, UsageError, suggestion
from harvest.plugins.known import commands_below
from harvest.toolkit.completion import option
from harvest.toolkit.steps import remark

if TYPE_CHECKING:
    from harvest.plugins.registered import Registered
    from harvest.plugins.registry import PluginManager

COMMANDS: Final = {
    "run": ("run", "Read sources and write them to sinks; skip unchanged inputs."),
    "plugins": ("app", "List plugins; show, check or create one."),
    "verify": ("verify", "Check a dataset for damage and for files that do not belong to it."),
}
"""Commands in the order of help: function in ``commands``, and first sentence of the help."""


class HarvestGroup(TyperGroup):
    """The top level: harvest's own commands, and those that plugins declare."""

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.commands = {name: _stand_in(name, line) for name, (_, line) in COMMANDS.items()}
        self._find = _plugins_with

    def list_commands(self, ctx: Any) -> list[str]:
        """Return names in the order of help: a plugin's command follows the one it names."""
        names = super().list_commands(ctx)
        plugins = _plugins()
        self._find = lambda name: plugins  # help looks up each of them next
        declared = plugins.commands.values()
        rest = [spec for spec in declared if " " not in spec.name and spec.name not in names]
        while rest:
            spec = next((each for each in rest if each.after in names), rest[0])
            at = names.index(spec.after) + 1 if spec.after in names else len(names)
            names.insert(at, spec.name)
            rest.remove(spec)
        return names

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a stand-in for a command, with its line of help."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        found = self._find(cmd_name)
        if not found.claims.of("commands", cmd_name):
            if missing := found.missing("command", cmd_name):
                remedy = found.how_to_have(missing) + found.unless_disabled()
            elif cmd_name in found.broken:
                return found.find("command", cmd_name)
            elif ctx.resilient_parsing or cmd_name.startswith("-"):
                return None
            else:
                remedy = suggestion(cmd_name, self.list_commands(ctx))
            raise UsageError(f"unknown command {cmd_name!r}", remedy=remedy)
        spec = found.commands.get(cmd_name)
        return _stand_in(cmd_name, spec.doc if spec is not None else "Declared by several plugins.")

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command to call; this imports it."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else load_command(name), rest


def load_command(name: str) -> Any:
    """Import a command of the program or a plugin; add plugins' subcommands to a group.

    Raises UsageError for an unknown name, PluginError if a plugin's command cannot be imported.
    """
    ours = COMMANDS.get(name)
    loaded = resolve_name(f"harvest.cli.commands:{ours[0]}") if ours else None
    found = _command(name, loaded or _plugins_with(name).load_app(name))
    for words in _plugins(name).commands:
        first, _, word = words.partition(" ")
        if first == name and word:
            _put_below(found, words, word)
    for words in commands_below(name):
        found.commands.setdefault(words.partition(" ")[2], _missing(words))
    return _plain(found)


def _missing(words: str) -> TyperCommand:
    """Return a hidden command that says which distribution brings the missing command."""

    def refuse() -> None:
        remedy = _all_plugins().remedy(words, (), "command")
        raise UsageError(f"unknown command {words!r}", remedy=remedy)

    anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    return TyperCommand(
        name=words.partition(" ")[2], callback=refuse, hidden=True, add_help_option=False,
        context_settings=anything,
    )  # fmt: skip


def _put_below(group: Any, words: str, word: str) -> None:
    if not isinstance(group, TyperGroup):
        owner = _plugins(group.name).owner(_plugins(group.name).commands[words]).distribution
        raise PluginError(
            f"{owner} declares a command {words!r}, and {group.name!r} is not a group of commands",
            remedy=f"report this to the author of {owner}",
        )
    if word in group.commands:
        remark(f"command {words!r} is that of {group.name!r} itself; a plugin declares it, too")
        return
    group.commands[word] = _command(word, _plugins(group.name).load_app(words))


def _command(name: str, found: Any) -> Any:
    if isinstance(found, typer.Typer):
        command: Any = typer.main.get_group(found)
    else:
        alone = typer.Typer(add_completion=False)
        alone.command()(found)
        command = typer.main.get_command(alone)
    command.name = name
    return command


def _stand_in(name: str, line: str) -> TyperCommand:
    return TyperCommand(name=name, help=line, short_help=line)


def _plain(command: Any) -> Any:
    """Make the help of a command and its subcommands look like that of all others.

    The help is plain text, in which brackets have no special meaning. The list of commands shows
    the whole first sentence of each, which a narrow terminal would otherwise cut.
    """
    command.rich_markup_mode = None
    first = " ".join((command.help or "").partition("\n\n")[0].split())
    command.short_help = command.short_help or f"{first.partition('. ')[0].rstrip('.')}."
    for inner in getattr(command, "commands", {}).values():
        _plain(inner)
    return command


def _plugins(name: str | None = None) -> Registered:
    """Return the plugins whose entry points name a command, or any."""
    from harvest.plugins.registered import manager_of_commands  # late: completion may need none

    return manager_of_commands(name)


def _plugins_with(name: str) -> Registered:
    """Return the plugins that declare a command; if no entry point names it, return all."""
    found = _plugins(name)
    return found if found.claims.of("commands", name) else _all_plugins()


def _all_plugins() -> PluginManager:
    from harvest.plugins.registry import manager  # late: it loads them

    return manager()


def call(arguments: list[str]) -> Any:
    """Call the command that the arguments name; return its result.

    A command whose name comes first is called directly. typer would first read the program's
    options, and for that import libraries that parse values, even if only help is wanted.
    """
    name = arguments[0] if arguments else "--help"
    if name.startswith("-") or not (name in COMMANDS or _plugins(name).claims.of("commands", name)):
        return app(args=arguments, standalone_mode=False)
    command = load_command(name)
    command.context_settings = CONTEXT | command.context_settings
    program = "python -m harvest" if Path(sys.argv[0]).name == "__main__.py" else "harvest"
    return command(args=arguments[1:], prog_name=f"{program} {name}", standalone_mode=False)


CONTEXT: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

app = typer.Typer(
    name="harvest",
    cls=HarvestGroup,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: importing rich would triple the time
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
    help="Collect the metadata of scientific runs into datasets, and report on them.",
    epilog="Example: harvest run --source mofka-dask:runs/R1 --sink parquet:out",
)


def _version(value: bool) -> None:
    if value:
        print(f"harvest {harvest.__version__}")
        raise typer.Exit


def _load(ctx: typer.Context, value: list[str] | None) -> list[str] | None:
    """Load plugin files before the command is looked up, since a file may declare it."""
    for path in value or ():
        if not ctx.resilient_parsing:
            _all_plugins().add_file(Path(path))
    return value


@app.callback()
def program(
    version: Annotated[
        bool, option("--version", "Show the version.", callback=_version, is_eager=True)
    ] = False,
    plugin: Annotated[
        list[str] | None,
        option(
            "--plugin FILE.py",
            "Load a plugin from a Python file. Repeatable.",
            callback=_load,
            is_eager=True,
        ),
    ] = None,
    debug: Annotated[bool, option("--debug", "Show the traceback of an error.")] = False,
) -> None:
    """Collect the metadata of scientific runs into datasets, and report on them."""
