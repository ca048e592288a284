"""Shell completion for options of plugins' commands."""

from collections.abc import Callable

__all__ = ["words"]


def words(*choices: str) -> Callable[[str], list[str]]:
    """Return a completion by fixed words, for ``typer.Option(autocompletion=...)``."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in choices if word.startswith(incomplete)]

    return complete
