"""What a shell may complete, for options of plugins' commands."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["words"]


def words(*choices: str) -> Callable[[str], list[str]]:
    """A completion by words that are always the same, for ``typer.Option(autocompletion=...)``."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in choices if word.startswith(incomplete)]

    return complete
