"""``harvest detect`` and ``harvest preview``: looking before harvesting."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harvest.cli.outcome import say
from harvest.cli.records import Style, print_records, print_rows_as_json
from harvest.cli.settings import plugin_settings
from harvest.cli.tables import print_json, print_table
from harvest.errors import UsageError
from harvest.pipeline.choose import name_sources
from harvest.pipeline.endpoints import endpoints_of
from harvest.pipeline.prepare import prepare_sources
from harvest.pipeline.preview import first_rows
from harvest.pipeline.recipe import Recipe
from harvest.pipeline.survey import Known, survey
from harvest.plugins.columns import columns_of_record
from harvest.plugins.registry import manager
from harvest.toolkit.amounts import count_in_words

__all__ = ["print_first_rows", "print_sources"]


def print_sources(paths: Sequence[Path], *, json: bool) -> int:
    """Print which sources can read paths; 1 when one is recognised by none."""
    rows: list[tuple[str, str | None, float | None, str]] = []
    unknown = False
    for path in paths:
        if "://" in str(path) or ":/" in str(path):
            # it may hold a password, and is not a path
            raise UsageError(
                "an address is not a path, and is not detected",
                remedy="name its source: harvest preview -s NAME:ADDRESS",
            )
        seen = survey(path, manager())
        found = sorted((*seen.known, *seen.doubtful), key=lambda each: -each.confidence)
        unknown = unknown or not found
        rows += [(str(path), k.source, k.confidence, _reason(k, seen.root)) for k in found]
        if not found:
            rows.append((str(path), None, None, "no source recognises it"))
    if json:
        keys = ("path", "source", "confidence", "reason")
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        table = [(p, s, None if c is None else f"{c:.0%}", r) for p, s, c, r in rows]
        print_table(("path", "source", "sure", "because"), table, prose=("because",))
    return 1 if unknown else 0


def _reason(known: Known, root: Path) -> str:
    """Why a source is so sure; of a directory, with the files that it recognises there."""
    if root.is_file():
        return known.reason
    files = count_in_words(known.files, "file")
    return f"{files}: {known.reason} ({known.example.relative_to(root)})"


def print_first_rows(
    source: str,
    rows: int,
    settings: list[str] | None,
    *,
    json: bool,
    exact: bool,
    wide: bool,
) -> int:
    """Print the first rows of a source."""
    plugins = manager()
    sources = endpoints_of(source, "source", plugins)
    recipe = Recipe(sources=sources, settings=plugin_settings(settings))
    recipe, choices = name_sources(recipe, plugins)
    say(choices)
    style = Style(exact=exact, wide=wide)
    for use in prepare_sources(recipe, plugins):
        found = first_rows(use.source, rows)
        for name, first in found.tables.items():
            if json:
                print_rows_as_json(name, first.rows)
                continue
            known = columns_of_record(first.kind)
            print_records(name, first.rows, known, style, total=first.seen, more=not found.complete)
        say(found.remarks)
    return 0
