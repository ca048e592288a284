"""``harvest query``: the rows that SQL gives, printed or written to a file."""

from __future__ import annotations

import sys
from pathlib import Path

from harvest import UsageError
from harvest.commands.asking import answer
from harvest.commands.progress import working
from harvest.commands.settings import key_values
from harvest.commands.tables import how_many
from harvest_report.records import Style, print_records, print_rows_as_json

from .files import export

__all__ = ["print_query"]


def print_query(
    dataset: Path,
    sql: str,
    output: Path | None,
    settings: list[str] | None,
    *,
    json: bool,
    exact: bool,
    wide: bool,
) -> int:
    """Run SQL over a dataset, and print or write what it gives."""
    if output is not None and json:
        raise UsageError("--json prints and --output writes", remedy="give one of them")
    text = sys.stdin.read() if sql == "-" else sql
    of_views: dict[str, dict[str, str]] = {}
    for key, value in key_values(settings).items():
        view, _, name = key.rpartition(".")
        of_views.setdefault(view, {})[name] = value
    with working("querying"):
        frames = answer(dataset, lambda opened: opened.sql_all(text, settings=of_views))
    if output is not None:
        if len(frames) > 1:
            raise UsageError(
                f"{len(frames)} queries, and one file", remedy="ask each in a command of its own"
            )
        export(frames[0].lazy(), output)
        print(f"{how_many(frames[0].height, 'row')} written to {output}")
        return 0
    rest = "--wide shows all, -o FILE.csv writes all"
    for number, frame in enumerate(frames, start=1):
        name = f"result {number}" if len(frames) > 1 else "result"
        if json:
            print_rows_as_json(name, frame)
        else:
            print_records(name, frame, style=Style(exact=exact, wide=wide, rest=rest))
    return 0
