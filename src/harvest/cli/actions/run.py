"""``harvest run --print-config``: the recipe of a run."""

from __future__ import annotations

from harvest.commands.options import RunOptions
from harvest.commands.outcome import say
from harvest.pipeline.choose import name_sources
from harvest.pipeline.record import without_secrets
from harvest.plugins.registry import manager

__all__ = ["print_recipe"]


def print_recipe(options: RunOptions) -> int:
    """Print a command line as a recipe, without its secrets."""
    plugins = manager()
    recipe, choices = name_sources(options.recipe(), plugins, absent=True)
    say(choices)
    shown = without_secrets(recipe, plugins)
    if shown != recipe:
        print("# passwords and other secrets are hidden; give them anew to run this recipe")
    print(shown.to_toml(), end="")
    return 0
