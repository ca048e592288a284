"""``harvest runs``, ``harvest verify`` and ``harvest rejects``."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["rejects", "runs", "verify"]

DatasetArgument = Annotated[Path, typer.Argument(metavar="DATASET", help="What a sink wrote.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def runs(dataset: DatasetArgument, json: JsonOption = False) -> int:
    """List the runs that wrote a dataset."""
    from harvest.dataset import open as open_dataset

    from .tables import print_json, print_table

    records = open_dataset(dataset).runs()
    if json:
        print_json(records)
        return 0

    def total(record: dict[str, Any], key: str) -> int:
        return sum(account[key] for account in record["account"])

    print_table(
        ("run", "started", "user", "sources", "partitions", "written", "rejected"),
        [
            (
                r["run"],
                r["started"][:19].replace("T", " "),
                f"{r['user']}@{r['host']}",
                ", ".join(f"{s['name']}:{s['location']}" for s in r["sources"]),
                r["partitions"],
                total(r, "written"),
                total(r, "rejected"),
            )
            for r in records
        ],
        right=("partitions", "written", "rejected"),
        upright=True,
    )
    return 0


def verify(dataset: DatasetArgument, json: JsonOption = False) -> int:
    """Check a dataset's files: checksums, then row counts.

    Ends with 1 when there is a problem.
    """
    from harvest.dataset import open as open_dataset
    from harvest.run.text import printable_line

    from .tables import print_json

    opened = open_dataset(dataset)
    problems = opened.verify()
    if json:
        print_json({"dataset": str(dataset), "problems": problems})
        return 1 if problems else 0
    for problem in problems:
        print(printable_line(problem))
    files = sum(len(part.files) for part in opened.manifest)
    rows = sum(opened.record_types.values())
    if problems:
        print(f"{len(problems)} problems; harvest run --force writes the dataset anew")
        return 1
    print(f"all well: {files:,} files, {rows:,} rows")
    return 0


def rejects(
    dataset: DatasetArgument,
    rows: Annotated[int, typer.Option("-n", "--rows", min=1, help="Rejects shown.")] = 20,
    json: Annotated[
        bool, typer.Option("--json", help="Print all, one JSON object per line.")
    ] = False,
) -> int:
    """Show the input units that could not be read, and why."""
    import sys

    import orjson

    from harvest.dataset import open as open_dataset

    from .tables import print_table

    opened = open_dataset(dataset)
    found = opened.rejects()
    if json:
        for row in found:
            row["raw"] = row["raw"].decode("utf-8", "backslashreplace")
            sys.stdout.write(orjson.dumps(row).decode() + "\n")
        return 0
    total = sum(part.rejected for part in opened.manifest)
    if not total:
        print("no rejects")
        return 0
    print_table(
        ("origin", "position", "reason", "raw"),
        [
            (
                r["origin"],
                r["position"],
                r["reason"],
                r["raw"][:60].decode("utf-8", "backslashreplace"),
            )
            for r in itertools.islice(found, rows)
        ],
        right=("position",),
    )
    if total > rows:
        print(f"{rows:,} of {total:,} shown; --rows N or --json for more")
    return 0
