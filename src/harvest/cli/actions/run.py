"""``harvest run``: one run, or the recipe of one."""

from __future__ import annotations

from harvest.cli.outcome import print_plan, print_result, rejects_line, say
from harvest.commands.options import RunOptions
from harvest.pipeline.choose import name_sources
from harvest.pipeline.progress import display
from harvest.pipeline.record import without_secrets
from harvest.pipeline.session import execute
from harvest.plugins.registry import manager

__all__ = ["print_recipe", "run_once"]


def run_once(options: RunOptions, *, dry_run: bool, force: bool, json: bool, quiet: bool) -> int:
    """Make a run, or only its plan, and print what came of it; the exit code."""
    plugins = manager()
    recipe = options.recipe()
    with display(not quiet) as observer:
        result = execute(
            recipe, plugins, force=force, dry_run=dry_run, wait_s=options.wait_s, observer=observer
        )
    if quiet:
        say(rejects_line(result, recipe))
        return int(result.exit_code)
    say(result.choices)
    if dry_run:
        print_plan(result.plan, json=json, scripts=result.scripts)
        return 0
    print_result(result, recipe, json=json)
    return int(result.exit_code)


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
