"""``harvest detect`` and ``harvest preview``: looking before harvesting."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harvest import Endpoint, Recipe, UsageError
from harvest.commands import RunOptions, remark
from harvest.commands.declared import columns_of_record
from harvest.commands.inputs import Known, beginnings, readers, survey
from harvest.commands.tables import print_json, print_table
from harvest.plugins import manager
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import printable_line
from harvest_report.records import Style, print_records, print_rows_as_json

from .first_rows import Preview, first_rows

PLACES_SHOWN: Final = 3


def print_sources(paths: Sequence[Path], *, json: bool) -> int:
    """Print which sources can read paths; 1 when one is recognised by none."""
    for path in paths:
        if "://" in str(path) or ":/" in str(path):
            # it may hold a password, and is not a path
            raise UsageError(
                "an address is not a path, and is not detected",
                remedy="name its source: harvest preview -s NAME:ADDRESS",
            )
    rows: list[tuple[str, str | None, float | None, str]] = []
    unknown = False
    given = Recipe(sources=tuple(Endpoint(None, str(path)) for path in paths))
    with beginnings(given) as recipe:
        for endpoint in recipe.sources:
            shown = endpoint.location
            seen = survey(Path(endpoint.place), manager())
            found = sorted((*seen.known, *seen.doubtful), key=lambda each: -each.confidence)
            unknown = unknown or not found
            rows += [(shown, k.source, k.confidence, _reason(k, seen.root)) for k in found]
            if not found:
                rows.append((shown, None, None, "no source recognises it"))
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
    if known.locations != (root,):
        places = [str(place.relative_to(root.parent)) for place in known.locations]
        more = ", ..." if len(places) > PLACES_SHOWN else ""
        files += f" at {', '.join(map(printable_line, places[:PLACES_SHOWN]))}{more}"
    return f"{files}: {known.reason} ({known.example.relative_to(root)})"


def print_first_rows(
    source: str, rows: int, settings: list[str], *, json: bool, exact: bool, wide: bool
) -> int:
    """Print the first rows of a source."""
    style = Style(exact=exact, wide=wide)
    given = RunOptions(None, [source], None, settings, wait_s=0, run={})
    with beginnings(given.recipe()) as recipe:
        found, choices = readers(recipe)
        for line in choices:
            remark(line)
        for reader in found:
            _print(first_rows(reader, rows), style, json=json)
    return 0


def _print(found: Preview, style: Style, *, json: bool) -> None:
    for name, first in found.tables.items():
        if json:
            print_rows_as_json(name, first.rows)
            continue
        known = columns_of_record(first.kind)
        print_records(name, first.rows, known, style, total=first.seen, more=not found.complete)
    for line in found.remarks:
        remark(line)
