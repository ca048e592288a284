"""``harvest look``: the contents of a directory, and the command that harvests it."""

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harvest import Endpoint, Recipe, UsageError, record_type
from harvest.commands.declared import names_for
from harvest.commands.inputs import SURE, Survey, pipe_of, survey
from harvest.commands.outcome import run_recipe
from harvest.commands.progress import working
from harvest.commands.tables import print_json, print_lines, print_table, print_text, values_of
from harvest.plugins import PluginManager, manager
from harvest.toolkit.amounts import bytes_in_words, count_in_words
from harvest.toolkit.texts import printable_line, shell_word

OUT = "out"
"""The dataset that the proposed command writes."""
UNKNOWN_SHOWN = 10
PLACES_SHOWN = 20
COMMANDS_SHOWN = 8
REPORTS_SHOWN = 4
"""Most reports among the commands, so that views also have room."""
MOST_OF_IT = 0.5
"""A view or report is proposed if more than this share of its record types was found."""


def look_at(path: Path, run: Path | None, *, json: bool) -> int:
    """Print the contents of a tree, or harvest it; return 1 when no source recognises any file."""
    if pipe_of(str(path)) is not None:
        problem = "this is a pipe, which is not looked at"
        remedy = "harvest detect says what comes through it"
        raise UsageError(problem, where=printable_line(str(path)), remedy=remedy)
    plugins = manager()
    with working("looking"):
        found = survey(path, plugins)
    if run is not None and found.known:
        recipe = Recipe(sources=found.endpoints, sinks=(Endpoint("parquet", str(run)),))
        result = run_recipe(recipe, json=json)
        if not json:
            _print_questions(found, plugins, run)
        return int(result.exit_code)
    if json:
        print_json(_document(found, plugins))
    else:
        _print(path, found, plugins)
    return 0 if found.known else 1


def _print(path: Path, found: Survey, plugins: PluginManager) -> None:
    if found.known:
        rows = [
            (k.source, f"{k.confidence:.0%}", k.files, bytes_in_words(k.size_bytes), k.reason)
            for k in found.known
        ]
        heads = ("source", "sure", "files", "size", "because")
        print_table(heads, rows, right=heads[1:4], prose=("because",))
    else:
        print_lines([f"no installed source recognises anything in {found.root}"])
    for known in found.known:
        if known.others:
            files = count_in_words(known.others, "file")
            print_lines([f"{known.source} also reads {files} there that nobody recognises"])
    for doubtful in found.doubtful:
        print_text(
            f"{doubtful.source} could read {_below(doubtful.example, found.root)}, but is only "
            f"{doubtful.confidence:.0%} sure: {doubtful.reason}"
        )
    if found.unknown:
        total = sum(group.files for group in found.unknown)
        print(f"\n{count_in_words(total, 'unrecognized file')}:")
        groups = [
            (g.ending, g.files, bytes_in_words(g.size_bytes), _below(g.example, found.root))
            for g in found.unknown[:UNKNOWN_SHOWN]
        ]
        names = ("ending", "files", "size", "such as")
        print_table(names, groups, right=names[1:3], forms={"such as": "path"})
        if len(found.unknown) > UNKNOWN_SHOWN:
            print(f"and {len(found.unknown) - UNKNOWN_SHOWN} more endings")
    for dataset in found.datasets:
        print_lines([f"{_below(dataset, found.root)} holds a dataset, and was skipped"])
    if found.known:
        print("\nto harvest all of it:\n")
        print_lines(_command(path, found, plugins))
        _print_questions(found, plugins, Path(OUT))


def _print_questions(found: Survey, plugins: PluginManager, dataset: Path) -> None:
    """Print the commands that query the harvested dataset, the best first."""
    views, reports = _applying(found, plugins)
    asked = ["findings"]
    asked += [f"report {name}" for name in reports[:REPORTS_SHOWN]]
    asked += [f"view {name}" for name in views]
    if len(views) + len(reports) >= COMMANDS_SHOWN:
        asked[COMMANDS_SHOWN - 1 :] = ["show"]  # which lists all of them
    print("\nthen:\n")
    print_lines(f"  harvest {words} {shell_word(str(dataset))}" for words in asked)


def _below(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path != root else path.name


def _command(path: Path, found: Survey, plugins: PluginManager) -> list[str]:
    """Return the lines of the command that harvests a tree, with paths relative as ``path`` is."""
    words = ["harvest run"]
    # a run of the plain path detects the same sources again
    sources = plugins.sources
    sure = all(
        k.confidence >= SURE and plugins.owner(sources[k.source]).installed for k in found.known
    )
    whole = sure and len(found.endpoints) > PLACES_SHOWN
    if whole:
        words.append(f"    -s {shell_word(str(path))}")
    for endpoint in () if whole else found.endpoints:
        place = path / Path(endpoint.location).relative_to(found.root)
        owner = plugins.owner(plugins.sources[str(endpoint.name)])
        file = "" if owner.installed else f"{os.path.relpath(owner.module)}:"
        words.append(f"    -s {shell_word(f'{file}{endpoint.name}:{place}')}")
    words.append(f"    -k parquet:{OUT}")
    return [f"  {word} \\" for word in words[:-1]] + [f"  {words[-1]}"]


def _applying(found: Survey, plugins: PluginManager) -> tuple[list[str], list[str]]:
    """Return the views and reports that read the sources' record types, the best first.

    Those that most rules use come first; those of any dataset come last.
    """
    brought = {
        record_type(cls).name
        for known in found.known
        for cls in plugins.source(known.source).record_types
    }
    rules = Counter(name for rule in plugins.rules.values() for name in {rule.view, *rule.reports})

    def best(declared: Mapping[str, Any]) -> list[str]:
        names = names_for(declared, brought, beyond=MOST_OF_IT)
        return sorted(names, key=lambda name: -rules[name] if declared[name].requires else 0)

    return best(plugins.views), best(plugins.reports)


def _document(found: Survey, plugins: PluginManager) -> dict[str, Any]:
    views, reports = _applying(found, plugins)
    known, group = ("source", "confidence", "reason", "files"), ("ending", "files", "size_bytes")
    return {
        "path": found.root,
        "sources": [values_of(k, *known, "size_bytes", "locations", "others") for k in found.known],
        "unknown": [values_of(g, *group, "example") for g in found.unknown],
        "doubtful": [values_of(k, *known, "example") for k in found.doubtful],
        "datasets": found.datasets,
        "views": views,
        "reports": reports,
    }
