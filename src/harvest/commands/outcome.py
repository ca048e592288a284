"""Run a recipe as ``harvest run`` does, and print its result: the account and the notes."""

import contextlib
import sys
from collections.abc import Iterable, Sequence

from harvest.pipeline.deciding import order_of
from harvest.pipeline.plan import Plan
from harvest.pipeline.progress import display
from harvest.pipeline.record import without_secrets
from harvest.pipeline.result import RunResult
from harvest.pipeline.session import execute
from harvest.plugins.registry import manager
from harvest.recipes.choose import name_sources
from harvest.recipes.recipe import Recipe
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.layout import fold
from harvest.toolkit.steps import remark
from harvest.toolkit.texts import printable_line

from .options import RunOptions
from .tables import print_json, print_lines, print_plain, print_table, width_of_terminal

__all__ = ["exports_failed", "run_recipe"]


def run_recipe(
    recipe: Recipe,
    *,
    force: bool = False,
    dry_run: bool = False,
    wait_s: float = 0,
    json: bool = False,
    quiet: bool = False,
) -> RunResult:
    """Carry out a recipe, show its progress, and print the result, as ``harvest run`` does.

    force, dry_run, wait_s: as in ``harvest.run``.
    json: print the account as one JSON document; quiet: print only the number of rejects.

    >>> recipe = harvest.Recipe.load("nightly.toml")  # doctest: +SKIP
    >>> code = run_recipe(recipe).exit_code  # doctest: +SKIP

    Raises HarvestError for every problem that stops the run; then no dataset has changed.
    """
    among_rows = sys.stdout.isatty() and any(sink.location == "-" for sink in recipe.sinks)
    with display(not quiet and not among_rows) as observer:
        result = execute(
            recipe, manager(), force=force, dry_run=dry_run, wait_s=wait_s, observer=observer
        )
    if quiet:
        say([*rejects_line(result, recipe), *exports_failed(result)])
        return result
    say([*result.choices, *exports_failed(result)])
    # if rows go to standard output, print the result on standard error
    with contextlib.redirect_stdout(sys.stderr) if result.streamed else contextlib.nullcontext():
        if dry_run:
            print_plan(result.plan, json=json, scripts=result.scripts)
        else:
            print_result(result, recipe, json=json)
    return result


def print_recipe(options: RunOptions) -> int:
    """Print the options as a recipe, without secrets."""
    plugins = manager()
    recipe, choices = name_sources(options.recipe(), plugins, absent=True)
    say(choices)
    shown = without_secrets(recipe, plugins)
    if shown != recipe:
        print("# passwords and other secrets are hidden; give them again to run this recipe")
    print(shown.to_toml(), end="")
    return 0


def say(lines: Iterable[str]) -> None:
    """Print remarks of the program, each on a line of standard error."""
    for line in lines:
        remark(line)


def print_plan(plan: Plan, *, json: bool, scripts: Sequence[str] = ()) -> None:
    """Print the plan of a dry run: each partition and the planned action."""
    actions = [
        *(("read" if p.read_for else "commit", p.use, p.partition) for p in plan.partitions),
        *(("skip", use, partition) for use, partition in plan.skipped()),
    ]
    actions.sort(key=lambda each: order_of(*each[1:]))
    rows = []
    for action, use, partition in actions:
        source, origin, _ = order_of(use, partition)
        size = partition.size_bytes if partition.inputs else None
        rows.append((action, source, size, origin))
    if json:
        keys = ("action", "source", "size_bytes", "origin")
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
        return
    print_table(("action", "source", "bytes", "origin"), rows, right=("bytes",))
    count = sum(1 for row in rows if row[0] == "read")
    for script in scripts:
        print(f"{script}\n")
    print(f"{count} of {len(rows)} partitions would be read; nothing was written")


def print_result(result: RunResult, recipe: Recipe, *, json: bool) -> None:
    """Print the account of a run, its notes, and advice about its rejects."""
    account = result.account
    if json:
        print_json(result.document())
        return
    print_table(account.COLUMNS, account.rows, right=account.COLUMNS[1:], upright=True)
    if result.rows:
        print()
        print_table(("record type", "rows"), result.rows.items(), right=("rows",))
    if result.left_out:
        print()
        print_table(("left out of the rows", "units"), result.left_out, right=("units",))
    if result.first_notes:
        print("\nnotes")
    for note in result.first_notes:
        print_plain(fold(f"  {printable_line(note)}", width_of_terminal(), " " * 4))
    if result.dropped:
        rows = count_in_words(sum(part.written for part in result.dropped), "row")
        print(f"\ndropped {rows} of {count_in_words(len(result.dropped), 'missing input')}")
    where = ", ".join(str(sink.location) for sink in recipe.sinks)
    if result.streamed:
        print(f"\nwritten to {printable_line(where)}")
    elif result.run is None:
        print(f"\nnothing new for {printable_line(where)}")
    else:
        print(f"\ncommitted to {printable_line(where)} as run {result.run}")
    print_lines(f"exported to {text}" for text, why in result.exports.items() if why is None)
    print_plain(rejects_line(result, recipe))


def rejects_line(result: RunResult, recipe: Recipe) -> list[str]:
    """Return one line of advice about a run's rejects; an empty list if there are none."""
    if not (rejected := result.account.rejected):
        return []
    units = count_in_words(rejected, "input unit")
    target = printable_line(str(recipe.sinks[0].location))
    more = "" if result.streamed else f": harvest rejects {target}"
    return [f"{units} could not be read{more}"]


def exports_failed(result: RunResult) -> list[str]:
    """Return a line for each export that failed."""
    return [
        f"not exported to {printable_line(text)}: {why}; the dataset stands, the next run retries"
        for text, why in result.exports.items()
        if why is not None
    ]
