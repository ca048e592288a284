"""The reference of all commands and options, from the commands themselves."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from harvest.cli.app import app, load_command
from harvest_look.markdown import table

__all__ = ["Command", "commands", "page"]

_MANY = 5
"""So many options that two commands share are explained with the first alone."""

_GENERAL = frozenset(("help", "install_completion", "show_completion"))


class Command:
    """One command: its words after ``harvest``, its help, and (names, meaning) of each option."""

    def __init__(self, words: tuple[str, ...], command: Any):
        self.words = words
        self.help = (command.help or "").strip()
        self.arguments: list[tuple[str, str]] = []
        self.options: list[tuple[str, str]] = []
        for parameter in command.params:
            if parameter.name in _GENERAL or getattr(parameter, "hidden", False):
                continue
            text = " ".join((getattr(parameter, "help", None) or "").split())
            if parameter.param_type_name == "argument":
                self.arguments.append((parameter.metavar or parameter.name.upper(), text))
            else:
                names = ", ".join((*parameter.opts, *parameter.secondary_opts))
                metavar = "" if parameter.is_flag else f" {parameter.metavar or 'VALUE'}"
                self.options.append((names + metavar, text))


def commands() -> Iterator[Command]:
    """Every command of the program, those of installed plugins included."""
    group: Any = typer.main.get_command(app)
    yield Command((), group)
    for name in group.list_commands(None):
        yield from _walk(load_command(name), (name,))


def _walk(command: Any, words: tuple[str, ...]) -> Iterator[Command]:
    yield Command(words, command)
    for name, inner in getattr(command, "commands", {}).items():
        yield from _walk(inner, (*words, name))


def page() -> str:
    """The whole reference of commands as one page."""
    lines = [
        "# Commands",
        "",
        "Generated from the commands themselves; every one has `--help`.",
        "",
    ]
    told: dict[str, list[tuple[str, str]]] = {}  # options that each command explains itself
    for command in commands():
        name = " ".join(("harvest", *command.words))
        like, shared = _most_shared(command, told)
        told[name] = [option for option in command.options if option not in shared]
        lines += [f"## {name}", "", command.help, ""]
        lines += table(
            ("argument or option", "meaning"),
            [(f"`{names}`", text) for names, text in (*command.arguments, *told[name])],
        )
        if shared:
            names = ", ".join(f"`{re.split('[ ,]', names)[0]}`" for names, _ in shared)
            lines += [f"As for `{like}`: {names}.", ""]
    return "\n".join(lines)


def _most_shared(
    command: Command, told: dict[str, list[tuple[str, str]]]
) -> tuple[str, list[tuple[str, str]]]:
    """The command that explains most of its options already, and which, if they are many."""
    shared = {
        name: [option for option in options if option in command.options]
        for name, options in told.items()
    }
    like = max(shared, key=lambda name: len(shared[name]), default="")
    return like, shared[like] if like and len(shared[like]) >= _MANY else []
