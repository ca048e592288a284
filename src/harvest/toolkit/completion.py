"""Declare the arguments and options of a plugin's commands, with words that a shell completes.

Flags and metavar are written as help shows them::

    Output = Annotated[Path | None, option("-o --output FILE", "Write the rows to FILE.")]
"""

from collections.abc import Callable
from typing import Any

import typer

__all__ = ["argument", "group", "option", "words"]


def group(meaning: str) -> typer.Typer:
    """Return a typer app for a group of commands, which stays a group if it has only one."""
    return typer.Typer(help=meaning, no_args_is_help=True, callback=lambda: None)


def option(
    names: str, meaning: str, complete: Callable[..., Any] | None = None, **more: Any
) -> Any:
    """Return a typer option.

    names: its flags and metavar as help shows them (``-o --output FILE``).
    complete: completes its values; more: passed to ``typer.Option``.
    """
    flags = [word for word in names.split() if word.startswith("-")]
    metavar = names.removeprefix(" ".join(flags)).strip() or None
    return typer.Option(*flags, metavar=metavar, help=meaning, autocompletion=complete, **more)


def argument(
    metavar: str, meaning: str, complete: Callable[..., Any] | None = None, **more: Any
) -> Any:
    """Return a typer argument."""
    return typer.Argument(metavar=metavar, help=meaning, autocompletion=complete, **more)


def words(*choices: str) -> Callable[[str], list[str]]:
    """Return a completion by fixed words, for ``option``."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in choices if word.startswith(incomplete)]

    return complete
