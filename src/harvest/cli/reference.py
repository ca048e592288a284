"""The reference of all commands and options, as Markdown, from the commands themselves.

python -m harvest.cli.reference > docs/reference/commands.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from .app import app

__all__ = ["Command", "commands", "reference"]

_GENERAL = frozenset(("help", "install_completion", "show_completion"))


class Command:
    """One command: its words after ``harvest``, its help, and (names, meaning) of each option."""

    def __init__(self, words: tuple[str, ...], command: Any):
        self.words = words
        self.help = (command.help or "").strip()
        self.arguments: list[tuple[str, str]] = []
        self.options: list[tuple[str, str]] = []
        for parameter in command.params:
            if parameter.name in _GENERAL:
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
    from harvest.plugins.manager import manager

    top = typer.main.get_command(app)
    yield from _walk(top, ())
    for name in manager().commands:
        loaded = manager().load_app(name)
        group = typer.main.get_command(loaded) if isinstance(loaded, typer.Typer) else loaded
        yield from _walk(group, (name,))


def _walk(command: Any, words: tuple[str, ...]) -> Iterator[Command]:
    yield Command(words, command)
    for name, inner in getattr(command, "commands", {}).items():
        yield from _walk(inner, (*words, name))


def reference() -> str:
    """The whole reference as one Markdown page."""
    lines = [
        "# Commands",
        "",
        "Generated from the commands themselves; every one has `--help`.",
        "",
    ]
    for command in commands():
        lines += [f"## {' '.join(('harvest', *command.words))}", "", command.help, ""]
        if command.arguments or command.options:
            lines += ["| argument or option | meaning |", "|---|---|"]
            lines += [
                f"| `{names}` | {text.replace('|', chr(92) + '|')} |"
                for names, text in (*command.arguments, *command.options)
            ]
            lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(reference(), end="")
