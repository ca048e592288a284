"""The reference of all commands and options, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from harvest.cli.app import app, load_command
from harvest_look.markdown import table

__all__ = ["Command", "commands", "page"]

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
    for command in commands():
        lines += [f"## {' '.join(('harvest', *command.words))}", "", command.help, ""]
        lines += table(
            ("argument or option", "meaning"),
            [(f"`{names}`", text) for names, text in (*command.arguments, *command.options)],
        )
    return "\n".join(lines)
